# SPDX-License-Identifier: GPL-2.0
# Use the names of 6.12 instead of names that only later kernels have.
s/\<native_rdmsrq\>/__rdmsr/g
s/\<\(\(native_\)\?\(rd\|wr\)msr\)q/\1l/g
s/\<kzalloc_obj(\(\*[a-z]*\), /kzalloc(sizeof(\1), /g
s/\<kzalloc_obj(\(\*[a-z]*\))/kzalloc(sizeof(\1), GFP_KERNEL)/g
s/\<system_dfl_wq\>/system_unbound_wq/g
s/\<EXPORT_SYMBOL_FOR_KVM\>/EXPORT_SYMBOL_GPL/g
