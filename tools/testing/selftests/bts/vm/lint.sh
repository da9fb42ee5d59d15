# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtest.sh lint: run the checks lint_NAME. A check prints its findings, or nothing if it passes.

LINT_LINES=800	# limit for a file
LINT_SCREEN=60	# limit for the lines of a function

# Print the files of the repository below PATH..., including new ones.
repo_files() {
	git -C "$REPO" -c core.quotePath=false -c safe.directory='*' ls-files -co --exclude-standard -- "$@" |
		while IFS= read -r file; do
			[ ! -f "$REPO/$file" ] || echo "$file"
		done
}

# Print the shell scripts of the repository: files *.sh, and files whose first line names a shell,
# if no dot is in their names.
shell_files() {
	repo_files | while IFS= read -r file; do
		case ${file##*/} in
		*.sh) echo "$file" ;;
		*.*) ;;
		*) ! head -n 1 "$REPO/$file" | grep -qE '^#!.*/(ba)?sh' || echo "$file" ;;
		esac
	done
}

# collect FILE COMMAND...: run COMMAND with its output in FILE.
collect() {
	"${@:2}" >"$1" 2>&1
}

# lint NAME FUNCTION: run a check, and show its findings.
lint() {
	local name=$1 findings=$RESULTS/$1
	shift

	step "lint.$name" collect "$findings" "$@"
	if [ ! -s "$findings" ]; then
		pass "$name"
		return
	fi
	fail "$name" "$(wc -l <"$findings") findings"
	head -n 20 "$findings" | sed "s|^|       |; s|$REPO/||g"
	[ "$(wc -l <"$findings")" -le 20 ] || say "       ... all in $findings"
}

lint_series() {
	local out

	out=$("$REPO/series/check" --fast --kernel "$LINUX" 2>&1) || echo "$out"
}

lint_shellcheck() {
	(cd "$REPO" && shell_files | sort -u | xargs shellcheck -x -P SCRIPTDIR -f gcc)
}

# Each file must have an SPDX line among its first three lines, except diffs, plain text, COPYING,
# .gitignore, files in .ci, and files in strace/common: strace has this line later in a file, or not
# at all.
lint_spdx() {
	local file

	repo_files | grep -vE '\.(patch|txt|TXT)$|^README$|^strace/common/|^\.ci/|(^|/)\.gitignore$' |
		while IFS= read -r file; do
			head -n 3 "$REPO/$file" | grep -q "SPDX-License-""Identifier: " ||
				[ "$file" = COPYING ] ||
				echo "$file: no SPDX line in its first lines"
		done
}

# No line may end with white space. In a diff check only added lines, as an empty line of context is
# a single space.
lint_space() {
	local file

	repo_files | while IFS= read -r file; do
		case $file in
		*.patch) grep -nE '^[+].*[[:space:]]$' "$REPO/$file" ;;
		*) grep -nE '[[:space:]]$' "$REPO/$file" ;;
		esac | sed "s|^\([0-9]*\):.*|$file:\1: white space at the end|"
		[ -z "$(tail -c 1 "$REPO/$file")" ] || echo "$file: no newline at the end"
	done
}

lint_length() {
	(cd "$REPO" && repo_files | grep -v '\.patch$' | xargs -d '\n' wc -l) |
		awk -v max="$LINT_LINES" '$2 != "total" && $1 > max {
			print $2 ": " $1 " lines, " max " at most" }'
}

# A function of C or shell may have at most LINT_SCREEN lines between its braces. The last brace is
# in the first column.
lint_screen() {
	(
		cd "$REPO" && repo_files | grep -E '\.([ch]|sh)$|^series/[a-z]*$' |
			xargs -d '\n' awk -v max="$LINT_SCREEN" '
			FNR == 1 { start = 0 }
			/^[a-z_0-9]+\(\)( \{)?$/ || /^\{$/ { start = FNR }
			/^\}/ && start {
				if (FNR - start - 1 > max)
					print FILENAME ":" start ": function of " FNR - start - 1 " lines"
				start = 0
			}'
	)
}

# vmtest.sh is one program of many files: the second function of a name would replace the first.
# The groups are counted, too, as several may run in one process.
lint_twice() {
	(
		cd "$B" && find vmtest.sh vm groups -name '*.sh' -print0 2>/dev/null | sort -z |
			xargs -0 grep -HnoE '^\s*(function\s+[^ (]+|[^ (=]+\s*\(\))' |
			sed -E 's/^([^:]*:[0-9]+:)\s*(function\s+)?([^ (]+).*/\1\3()/' | awk -F: '
			$3 in file { print $1 ":" $2 ": " $3 " is also in " file[$3] }
			{ file[$3] = $1 }'
	)
}

# A line of the file unrun names a source file and a function, which that file must have.
lint_unrun() {
	local file function

	while read -r file function _; do
		[[ $file = \#* ]] || grep -qs "\<$function(" "$REPO/$file" ||
			echo "unrun: $file does not have $function()"
	done <"$B/unrun"
}

lint_spelling() {
	(cd "$REPO" && repo_files | xargs -d '\n' codespell -L fo,ist,nd,ot,pevent,reenable,struc)
}

# Find paths that exist only on the machine of a developer. Do not find the pattern itself.
lint_paths() {
	local own=${HOME%/}

	git -C "$REPO" -c safe.directory='*' grep -nE "(/tmp/[w]/|/[w]ork/|/home/[a-z]${own:+|$own/})" -- . |
		cut -c1-160
}

# lint_page_program PAGE: except for white space, the program in a manual page must equal the file
# that the page names.
lint_page_program() {
	local name file

	name=$(sed -n 's/^\.\\" SRC BEGIN (\(.*\))$/\1/p' "$1")
	[ -n "$name" ] || return 0
	file=$(repo_files "*/$name")
	sed -n '/^\.\\" SRC BEGIN/,/^\.\\" SRC END/p' "$1" | sed -n '/^\.EX$/,/^\.EE$/{//!p}' |
		sed -e 's/^\\&//; s/\\-/-/g; s/\\\[ha]/^/g; s/\\\[ti]/~/g; s/\\\[ga]/`/g' \
			-e "s/\\\\\[aq]/'/g" -e 's/\\e/\\/g' |
		diff -b - "$REPO/${file:-$name}" >/dev/null 2>&1 ||
		echo "$1: the program is not what ${file:-$name} is"
}

# lint_page PAGE: check a manual page with both formatters, as each finds other errors.
lint_page() {
	mandoc -T lint -W warning "$1"
	groff -ww -man -T utf8 -z "$1" 2>&1
	lint_page_program "$1"
}

# lint_page_patch PATCH: apply a patch to a manual page of this system, and check the result.
lint_page_patch() {
	local page=$SCRATCH/man/${1#man-pages/}
	page=${page%.*.patch}

	mkdir -p "${page%/*}"
	{ zcat "/usr/share/man/${page##*/man/}.gz" >"$page" &&
		patch -s -d "$SCRATCH/man" -p1 -F0 <"$REPO/$1"; } || {
		echo "$1: does not fit the page of the package manpages-dev"
		return
	}
	lint_page "$page"
}

lint_man() {
	local file

	repo_files | grep -E '\.[1-8](\.[^./]*\.patch)?$' | while IFS= read -r file; do
		case $file in
		*.patch) lint_page_patch "$file" ;;
		*) lint_page "$REPO/$file" ;;
		esac
	done
}

# Build the documentation, and print the warnings about files of the series. Other documents of the
# kernel cause warnings, too.
# shellcheck disable=SC2153
lint_docs() {
	local dirs

	dirs=$(repo_files Documentation | xargs -r -n 1 dirname | sed 's|^Documentation/||' | sort -u)
	[ -n "$dirs" ] || return 0
	make -s -C "$PATCHED" O="$SCRATCH/docs" SPHINXDIRS="${dirs//$'\n'/ }" htmldocs \
		>"$SCRATCH/docs.out" 2>&1 || echo "make htmldocs: $(reason_in "$SCRATCH/docs.out")"
	repo_files Documentation arch include kernel | sed -E 's/\.[^./]*\.patch$//' |
		grep -F -f - "$SCRATCH/docs.out" | grep -E ':[0-9]+: ' | sed "s|$PATCHED/||g" | sort -u
}

# Only debugctl.c, its header and its unit test may write DEBUGCTL. perl is used since a call may
# span several lines.
# shellcheck disable=SC2016
lint_debugctl() {
	[ -f "$REPO/arch/x86/kernel/debugctl.c" ] || return 0
	# shellcheck disable=SC2153
	find "$PATCHED/arch/x86" -name '*.[chS]' ! -path '*/asm/debugctl.h' \
		! -path '*/kernel/debugctl.c' ! -path '*/kernel/debugctl_test.c' -print0 | xargs -0 grep -lE 'DEBUGCTL|0x1d9|debugctlmsr' |
		xargs -r perl -0777 -ne '
			while (/\b(\w*wrmsr\w*|msr_(?:set|clear)_bit|update_debugctlmsr)\s*\(([^;]*?)\)\s*;/g) {
				my ($call, $args, $line) = ($1, $2, 1 + (substr($_, 0, $-[0]) =~ tr/\n//));
				next if $call =~ /unimpl/;
				next unless $call =~ /debugctl/ || $args =~ /\bMSR_IA32_DEBUGCTLMSR\b|\b0x1d9\b/i;
				print "$ARGV:$line: $call() of DEBUGCTL: use asm/debugctl.h\n";
			}' | sed "s|^$PATCHED/||"
}

# Read findings of checkpatch. Print those that are not in series/exceptions, and the exceptions
# that match no finding.
excuse() {
	awk -F '\t' -v bts="$BTS_PATH" '
	NR == FNR {
		if (NF && !/^#/) {
			type[++n] = $1
			path[n] = $2
			gsub(/^B\//, bts "/", path[n])
			if ($3 == "")
				print "series/exceptions:" FNR ": no reason given"
		}
		next
	}
	{
		excused = 0
		for (i = 1; i <= n; i++)
			if ($0 ~ ":" type[i] ": " && substr($0, 1, index($0, ":") - 1) ~ "^" path[i] "$")
				used[i] = excused = 1
		if (!excused)
			print
	}
	END {
		for (i = 1; i <= n; i++)
			if (!used[i])
				print "series/exceptions: " type[i] " " path[i] ": excuses nothing, remove it"
	}' <(on_this_kernel "$REPO/series/exceptions") -
}

# checkpatch MAIL: print checkpatch's findings. Use the cached result, unless the mail or
# checkpatch.pl has changed.
checkpatch() {
	local done_before

	done_before=$CACHE/checkpatch/$({
		sed '/^From \|^From:\|^Date:\|^Subject:/d' "$1"
		cat "$LINUX/scripts/checkpatch.pl"
	} | key_of)
	if [ ! -f "$done_before" ]; then
		(cd "$SCRATCH" && "$LINUX/scripts/checkpatch.pl" --root="$LINUX" -q --strict --show-types --terse \
			--showfile --no-summary "$1" 2>&1) |
			grep -v '^No codespell typos' | sed "s|^:|$(basename "$1"):|" |
			sort -u >"$done_before.$$"
		mv "$done_before.$$" "$done_before"
	fi
	cat "$done_before"
}

lint_checkpatch() {
	local mails=$SCRATCH/mails out

	out=$(GIT_AUTHOR_NAME=lint GIT_AUTHOR_EMAIL=lint@example.org \
		"$REPO/series/export" --kernel "$LINUX" "$mails" 2>&1) || {
		echo "$out"
		return
	}
	mkdir -p "$CACHE/checkpatch"
	rm -f "$mails/0000-cover-letter.patch"
	export -f checkpatch key_of
	export CACHE LINUX SCRATCH
	# Start with the largest mail: if it came last, it might run alone.
	find "$mails" -name '*.patch' -printf '%s %p\n' | sort -rn | cut -d' ' -f2 |
		xargs -P "$JOBS" -I{} bash -c 'checkpatch {}' | sort -u |
		sed "s|^$mails/||" | excuse
	keep_newest "$CACHE/checkpatch" 200
}

# series_sources new|changed: print the kernel's C files that the series adds to this kernel, or
# changes, without those that another C file includes.
series_sources() {
	local laid=$PATCHED/.bts-series file

	cut -c67- "$laid/stamp" | grep '\.c$' | grep -v '^tools/' | while IFS= read -r file; do
		! grep -qsF "#include \"${file##*/}\"" "$PATCHED/${file%/*}"/*.c || continue
		if [ -e "$laid/orig/$file" ]; then
			echo "changed $file"
		else
			echo "new $file"
		fi
	done | sed -n "s/^$1 //p" | sort -u
}

# compile_findings TREE BUILD CC FILE...: print the warnings of W=1 for each file, and with gcc
# those of sparse, without line numbers, so that two trees can be compared.
compile_findings() {
	local tree=$1 build=$2 cc=$3 sparse=(C=2 CF=-D__CHECK_ENDIAN__)
	shift 3

	[[ $cc != clang* ]] || sparse=()
	make -s -C "$tree" O="$build" CC="$cc" -j "$JOBS" W=1 "${sparse[@]}" -k "${@/%.c/.o}" \
		2>&1 >/dev/null | sed "s|$tree/||g; s|^\(\.\./\)*||" |
		grep -E '^[^ ]+:[0-9]+:.*(warning|error):' | sed -E 's/:[0-9]+(:[0-9]+)?:/:/g' | sort -u
}

# lint_build TREE BUILD CC: prepare a build directory for compile_findings. Do not use the kernel's
# own build directory: the next build would compile again what W=1 has compiled.
lint_build() {
	mkdir -p "$2"
	if ! cmp -s "$KERNEL_BUILD/.config" "$2/.config.merged"; then
		cp "$KERNEL_BUILD/.config" "$2/.config"
		cp "$KERNEL_BUILD/.config" "$2/.config.merged"
	fi
	make -s -C "$1" O="$2" CC="$3" -j "$JOBS" olddefconfig prepare >"$RESULTS/prepare" 2>&1 ||
		echo "cannot prepare $2: $(reason_in "$RESULTS/prepare")"
}

# compile_with CC DIR: print compiler warnings that are new in the patched kernel. The build
# directories are DIR-stock and DIR-patched.
compile_with() {
	local file new changed stock=$2-stock patched=$2-patched

	mapfile -t new < <(series_sources new)
	mapfile -t changed < <(series_sources changed)
	[ $((${#new[@]} + ${#changed[@]})) -gt 0 ] || return 0
	lint_build "$LINUX" "$stock" "$1"
	lint_build "$PATCHED" "$patched" "$1"
	# Remove the objects, as only a compilation prints warnings.
	(cd "$stock" && rm -f "${changed[@]/%.c/.o}")
	(cd "$patched" && rm -f "${changed[@]/%.c/.o}" "${new[@]/%.c/.o}")
	compile_findings "$LINUX" "$stock" "$1" "${changed[@]}" >"$SCRATCH/stock"
	compile_findings "$PATCHED" "$patched" "$1" "${changed[@]}" "${new[@]}" >"$SCRATCH/patched"
	comm -13 "$SCRATCH/stock" "$SCRATCH/patched"
	# A file that was not compiled was not checked.
	for file in "${new[@]}"; do
		[ -f "$patched/${file/%.c/.o}" ] ||
			echo "$file: not compiled: enable it in $BTS_PATH/config.base or config.series"
	done
}

lint_compile() {
	compile_with "${CC:-gcc}" "$CACHE/build/$LINUX_KEY-lint"
}

lint_clang() {
	compile_with clang-19 "$CACHE/build/$LINUX_KEY-lint-clang"
}

# Print functions with frames of more than 512 bytes, in the files that the series adds and that
# lint_compile() has compiled.
lint_stack() {
	local file

	series_sources new | while IFS= read -r file; do
		# checkstack.pl would add the size that the end of a function adds to %rsp.
		objdump -d "$CACHE/build/$LINUX_KEY-lint-patched/${file/%.c/.o}" |
			sed '/add .*,%rsp/d' |
			perl "$PATCHED/scripts/checkstack.pl" x86_64 512 | sed "s|^|$file: |"
	done
}

# cocci_finding SCRIPT FILE...: print what a semantic patch of the kernel reports, or that it did
# not run.
cocci_finding() {
	local options script=$1 said
	shift

	read -ra options < <(sed -n 's,^//* *Options: *,,p' "$script")
	said=$(spatch -D report --no-show-diff --very-quiet --cocci-file "$script" "${options[@]}" "$@" \
		2>&1 >&3) || echo "$script: spatch: $(tail -n 1 <<<"$said")"
} 3>&1
export -f cocci_finding

# Like make coccicheck MODE=report, but only for the files that the series adds.
lint_cocci() {
	local new

	mapfile -t new < <(series_sources new)
	(
		cd "$PATCHED" || return
		grep -l '^virtual.*report' scripts/coccinelle/*/*.cocci |
			xargs -P "$JOBS" -I{} bash -c 'cocci_finding "$@" || :' - {} "${new[@]}"
	)
}

lint_kernel_doc() {
	local file

	repo_files '*.[ch]' | grep -vE "^($BTS_PATH|gdb|strace)/" | while IFS= read -r file; do
		(cd "$PATCHED" && scripts/kernel-doc -none -Wall "$file" 2>&1)
	done
}

# install_headers TREE DIR: install the headers for user space.
install_headers() {
	make -s -C "$1" O="$2" -j "$JOBS" ARCH=x86_64 INSTALL_HDR_PATH="$2" headers_install \
		>"$2.out" 2>&1 || echo "make headers_install: $(reason_in "$2.out")"
}

without_comments() {
	gcc -fpreprocessed -dD -E -P -w -x c "$1"
}

# lint_new_header DIR HEADER: a new header must compile alone, without a C library, in each ABI, and
# must not use CONFIG_ options.
lint_new_header() {
	local abi

	grep -Hn CONFIG_ "$1/$2"
	for abi in 64 32 x32; do
		gcc "-m$abi" -std=c90 -Wall -Werror -fsyntax-only -nostdinc -I"$1" \
			-include "$1/$2" -x c /dev/null 2>&1
	done
}

# Check the headers for user space: existing ones may get only comments and lines of the
# preprocessor. This replaces scripts/check-uapi.sh, which needs a newer abidiff than Debian 12 has.
lint_uapi() {
	local had=$SCRATCH/uapi-old/include has=$SCRATCH/uapi-new/include header

	mkdir -p "${had%/*}" "${has%/*}"
	install_headers "$LINUX" "${had%/*}"
	install_headers "$PATCHED" "${has%/*}"
	(cd "$had" && find . -name '*.h') | while IFS= read -r header; do
		cmp -s "$had/$header" "$has/$header" ||
			! diff <(without_comments "$had/$header") \
				<(without_comments "$has/$header") | grep -q '^[<>] *[^# ]\|^<' ||
			echo "$header: differs from the header of the stock kernel"
	done
	(cd "$has" && find . -name '*.h') | while IFS= read -r header; do
		[ -f "$had/$header" ] || lint_new_header "$has" "$header"
	done | sed "s|$has/||"
}

BTS_PATH=${B#"$REPO/"}

cmd_lint() {
	[ $# -eq 0 ] || [ "$*" = --fast ] || die "lint takes --fast, not ${*: -1}: see vmtest.sh help"
	prepare build lint "${1:-llvm}"
	GROUP=lint
	RESULTS=$CACHE/results/lint
	rm -rf "$RESULTS"
	mkdir -p "$RESULTS" || die "cannot write $RESULTS: free some space"
	check itself -- "$B/vm/lint-selftest"
	[ -n "$(repo_files)" ] || die "git does not list the files of $REPO: run lint in a clone"
	need_patched_tree
	local name names=(series shellcheck spdx space length screen twice unrun spelling paths man debugctl checkpatch)
	if [ -z "${1:-}" ]; then
		need_kernel patched base
		names+=(compile clang stack cocci kernel_doc docs uapi)
	fi
	for name in "${names[@]}"; do
		lint "$name" "lint_$name"
	done
	say "$PASSED passed, $FAILED failed, $SKIPPED skipped"
	[ "$FAILED" -eq 0 ]
}
