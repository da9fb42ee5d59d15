# SPDX-License-Identifier: GPL-2.0
# Names of 6.12, where the new ones are not there yet.
s/\<\(\(native_\)\?\(rd\|wr\)msr\)q/\1l/g
s/\<kzalloc_obj(\(\*[a-z]*\), /kzalloc(sizeof(\1), /g
s/\<kzalloc_obj(\(\*[a-z]*\))/kzalloc(sizeof(\1), GFP_KERNEL)/g
s/\<system_dfl_wq\>/system_unbound_wq/g
s/\<EXPORT_SYMBOL_FOR_KVM\>/EXPORT_SYMBOL_GPL/g
