# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
#
# Functions of apply, export and check: they read series/series, find the
# pristine kernel, and apply the files of one patch to a tree.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bts=tools/testing/selftests/bts
stamp_dir=.bts-series
default_kernel=${BTS_KERNEL:-/usr/src/linux-source-6.12.tar.xz}

# The files of the repository fit this kernel. series/compat/VERSION is the overlay for
# an older kernel: see the comment at the top of its file series.
newest=$(sed -n 's/^kernel //p' "$top/series/series" 2>/dev/null)
overlay=

# Files that are not for the kernel tree. All other files must be in exactly one patch.
outside='^(README|COPYING|\.gitignore|\.ci/.*|series/.*|man-pages/.*|gdb/.*|strace/.*|\.git/.*)$'

export LC_ALL=C

die()
{
	echo "series/${0##*/}: $*" >&2
	exit 2
}

make_scratch()
{
	tmp=$(mktemp -d "${TMPDIR:-/tmp}/bts-series.XXXXXX") ||
		die "no room for a scratch directory in ${TMPDIR:-/tmp}: set TMPDIR"
	trap 'rm -rf "$tmp"' EXIT
	trap 'exit 130' INT TERM
}

# Run git in the scratch tree, without the settings of the user.
g()
{
	GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 git -C "$tmp/git" "$@"
}

start_git()
{
	git -c init.defaultBranch=series init -q "$tmp/git" || die "cannot make a git tree in $tmp"
}

list_files()
{
	if [ -e "$top/.git" ]; then
		# git refuses the clone of another user. Allow it: its scripts run here anyway.
		git -C "$top" -c core.quotePath=false -c safe.directory='*' \
			ls-files -co --exclude-standard
	else
		(cd "$top" && find . -type f -printf '%P\n')
	fi
}

# Print the kernels that the series fits, the newest first: A or B.
known_kernels()
{
	local dir
	printf '%s' "$newest"
	for dir in "$top"/series/compat/*/; do
		[ ! -d "$dir" ] || printf ' or %s' "$(basename "$dir")"
	done
}

# Print VERSION.PATCHLEVEL of the Makefile on standard input.
version_in()
{
	sed -n 's/^VERSION = //p; s/^PATCHLEVEL = //p' | head -n 2 | paste -sd .
}

# Set base to the version of the kernel, which is a directory or an archive. Set overlay to
# the directory of the files that differ for this version, or to nothing for the newest.
choose_base()
{
	local arg=$1
	if [ -d "$arg" ]; then
		base=$(version_in <"$arg/Makefile")
	else
		base=$(tar -xOf "$arg" --wildcards --no-wildcards-match-slash --occurrence=1 '*/Makefile' \
			2>/dev/null | version_in)
	fi
	overlay=
	[ "$base" != "$newest" ] || return 0
	overlay=$top/series/compat/$base
	if [ -z "$base" ] || [ ! -d "$overlay" ]; then
		die "$arg is Linux ${base:-of an unknown version}: the series fits $(known_kernels): give one of those"
	fi
	read_renames
}

# Set the keys of renamed to the files in which rename.sed of the overlay changes names.
read_renames()
{
	local f pattern
	declare -gA renamed=()
	pattern=$(sed -n 's,^s/\(.*\)/.*/g$,\1,p' "$overlay/rename.sed")
	while IFS= read -r f; do
		renamed[$f]=1
	done < <(cd "$top" && list_files | tr '\n' '\0' | xargs -0r grep -sl -- "$pattern")
}

# Set source to the path of the file to use for FILE: that of the overlay, a copy in which
# rename.sed has changed names, or the one in the repository. This function, copy_file() and
# same_mode() are called for each of 1000 files, so they do not fork.
find_source()
{
	local f=$1
	if [ -n "$overlay" ] && [ -e "$overlay/$f" ]; then
		source=$overlay/$f
	elif [ -n "$overlay" ] && [ -n "${renamed[$f]}" ]; then
		if [ ! -e "$tmp/renamed/$f" ]; then
			mkdir -p "$tmp/renamed/$(dirname "$f")"
			sed -f "$overlay/rename.sed" "$top/$f" >"$tmp/renamed/$f" || die "cannot write $tmp/renamed/$f"
			[ ! -x "$top/$f" ] || chmod +x "$tmp/renamed/$f"
		fi
		source=$tmp/renamed/$f
	else
		source=$top/$f
	fi
}

# Print the files for the kernel tree, one per line: its new files, and patches of existing files.
tree_files()
{
	list_files | grep -Ev "$outside" | sort -u | while IFS= read -r f; do
		[ ! -e "$top/$f" ] && [ ! -L "$top/$f" ] || echo "$f"
	done
}

# Read one file of entries into patches, parts, part_of, takes and taken_by. The file of an
# overlay adds files to existing patches. takes gets no file that the overlay drops.
read_entries()
{
	local file=$1 add=$2 line name='' f
	while IFS= read -r line || [ -n "$line" ]; do
		case $line in
		'' | '#'* | 'kernel '*) continue ;;
		'part '*)
			[[ $line =~ ^part\ [a-z]+$ ]] || die "$file: '$line': a part has a name of small letters"
			[[ " ${parts[*]} " != *" ${line#part } "* ]] || die "$file: '$line' stands there twice"
			parts+=("${line#part }")
			;;
		[[:space:]]*)
			f=${line#"${line%%[![:space:]]*}"}
			[ -n "$name" ] || die "$file: '$f' stands before the first patch name"
			[ -z "${taken_by[$f]}" ] ||
				die "$file: $f is in ${taken_by[$f]} and in $name: leave it in one"
			taken_by[$f]=$name
			[[ $f = */ ]] || is_dropped "$f" || takes[$name]+=$f$'\n'
			;;
		*)
			name=$line
			[[ $name =~ ^[0-9]{4}-[a-z0-9-]+$ ]] ||
				die "$file: '$name' is not a patch name (NNNN-name) nor indented like a file"
			if [ -n "$add" ]; then
				[[ " ${patches[*]} " = *" $name "* ]] ||
					die "$file: $name is no patch of series/series"
				continue
			fi
			[[ ${#patches[@]} = 0 || ${patches[-1]} < $name ]] ||
				die "$file: $name stands after ${patches[-1]}: keep the numbers rising"
			patches+=("$name")
			[ ${#parts[@]} = 0 ] || part_of[$name]=${parts[-1]}
			;;
		esac
	done <"$top/$file"
}

is_dropped()
{
	[ -n "$overlay" ] && [ -e "$overlay/$1" ] && [ ! -s "$overlay/$1" ]
}

# Read series/series: patches=(NAME...), takes[NAME]=files, one per line,
# parts=(PART...), part_of[NAME]=PART.
# An entry with a trailing slash takes the files below it that no other, longer entry names.
read_series()
{
	local f d
	declare -gA takes=() taken_by=() part_of=()
	patches=() parts=()
	list_files >/dev/null || die "cannot list the files of $top: does git work there?"
	[ -r "$top/series/series" ] || die "no series/series beside me: run me from a complete clone"
	[ -n "$newest" ] || die "series/series has no line 'kernel VERSION.PATCHLEVEL'"
	read_entries series/series ''
	[ -z "$overlay" ] || read_entries "${overlay#"$top/"}/series" add
	unclaimed=()
	while IFS= read -r f; do
		[ -z "${taken_by[$f]}" ] || continue
		d=$f
		while [[ $d = */* ]]; do
			d=${d%/*}
			[ -z "${taken_by[$d/]}" ] || break
		done
		if [ -n "${taken_by[$d/]}" ]; then
			takes[${taken_by[$d/]}]+=$f$'\n'
		else
			unclaimed+=("$f")
		fi
	done < <(tree_files)
}

# Print the number of patches that take files. An overlay may drop all files of a patch.
count_patches()
{
	local p n=0
	for p in "${patches[@]}"; do
		[ -z "${takes[$p]}" ] || n=$((n + 1))
	done
	echo "$n"
}

want_part()
{
	[ -z "$1" ] || [[ " ${parts[*]} " = *" $1 "* ]] ||
		die "--part $1: no such part: the parts are ${parts[*]}"
}

# Return whether the patch P belongs to PART, which is empty for the whole series.
in_part()
{
	local p=$1 part=$2
	[ -z "$part" ] || [ "${part_of[$p]}" = "$part" ]
}

# Return whether the file is a diff of a kernel file. Patches below selftests/bts are new files.
is_patch()
{
	[[ $1 = *.patch && $1 != "$bts"/* ]]
}

# Print the kernel file that FILE.TOPIC.patch (or FILE.patch) changes.
patch_target()
{
	local file=${1%.patch} target
	find_source "$1"
	target=$(sed -n 's,^+++ b/\([^[:space:]]*\).*,\1,p' "$source")
	[ -n "$target" ] || die "$1: no '+++ b/FILE' line: make it a unified diff with a/ and b/ paths"
	[ "$target" = "$file" ] || [ "$target" = "${file%.*}" ] ||
		die "$1: changes '${target//$'\n'/ }', but by its name it should change ${file%.*} only"
	echo "$target"
}

# Set targets=(kernel files that the series changes).
read_targets()
{
	local p f t
	targets=()
	for p in "${patches[@]}"; do
		while IFS= read -r f; do
			[ -n "$f" ] || continue
			find_source "$f"
			if [ ! -f "$source" ] || [ -L "$source" ]; then
				die "series/series: $p takes $f, which is not a file here"
			fi
			is_patch "$f" || continue
			t=$(patch_target "$f") || exit 2
			targets+=("$t")
		done <<<"${takes[$p]}"
	done
}

# Print the directory of the pristine kernel for --base BASE. Fetch it if necessary.
kernel_of_base()
{
	local out
	out=$("$top/$bts/vmtest.sh" source --base "$1" 2>/dev/null) ||
		die "--base $1: there is no such kernel: '$bts/vmtest.sh source --base $1' says why"
	out=$(tail -n 1 <<<"$out")
	[ -d "$out" ] || die "--base $1: Debian's mirror does not have Linux $newest, the newest that the series fits"
	echo "$out"
}

is_kernel()
{
	grep -qs '^PATCHLEVEL = ' "$1/Makefile" && [ -f "$1/MAINTAINERS" ] && [ -d "$1/arch/x86" ]
}

# Read the series with the overlay for the kernel ARG, a directory or an archive.
read_series_for()
{
	[ -e "$1" ] || die "no kernel source at $1: give --base 6.12 or --base newest, which fetch it, or --kernel DIR|TAR"
	[ ! -d "$1" ] || is_kernel "$1" ||
		die "$1 is not a Linux source tree: give the top directory of one"
	choose_base "$1"
	read_series
}

# Print the version of the kernel and the overlay that is used for it.
said_base()
{
	echo "Linux $base${overlay:+, with the overlay ${overlay#"$top/"}}"
}

# Set kernel to a source tree: ARG itself, or ARG unpacked if it is an archive: all
# of its files if WHAT is all, otherwise only those that the series needs.
open_kernel()
{
	local arg=$1 what=$2 p prefix
	if [ -d "$arg" ]; then
		kernel=$arg
	else
		kernel=$tmp/kernel
		mkdir "$kernel"
		if [ "$what" = all ]; then
			tar -xf "$arg" -C "$kernel" --strip-components=1 ||
				die "cannot unpack $arg into $tmp"
		else
			prefix=$(tar -tf "$arg" 2>/dev/null | head -n 1)
			prefix=${prefix%%/*}
			{
				printf '%s\n' Makefile MAINTAINERS arch/x86/Kconfig "${targets[@]}"
				for p in "${patches[@]}"; do
					printf '%s' "${takes[$p]}"
				done
			} | sed "s,^,$prefix/," | sort -u >"$tmp/names"
			# tar reports the new files of the series as missing: ignore that.
			tar -xf "$arg" -C "$kernel" --strip-components=1 -T "$tmp/names" 2>/dev/null
		fi
	fi
	is_kernel "$kernel" || die "$arg is not a Linux source tree: give the top directory of one"
}

in_stamp()
{
	[ -e "$1/$stamp_dir/stamp" ] && cut -c67- "$1/$stamp_dir/stamp" | grep -qxF -- "$2"
}

# Print the path of the unchanged FILE in the kernel tree $1; fail if there is none.
# If apply has changed the tree, the originals are in the directory of the stamp.
pristine()
{
	local dir=$1 f=$2
	if [ -e "$dir/$stamp_dir/orig/$f" ]; then
		echo "$dir/$stamp_dir/orig/$f"
	elif [ -e "$dir/$f" ] && ! in_stamp "$dir" "$f"; then
		echo "$dir/$f"
	else
		return 1
	fi
}

# git stores only whether a file is executable.
same_mode()
{
	if [ -x "$1" ]; then [ -x "$2" ]; else [ ! -x "$2" ]; fi
}

copy_file()
{
	local mode=644
	[ ! -x "$1" ] || mode=755
	install -D -m "$mode" "$1" "$2" || die "cannot write $2"
}

# Copy the originals of all files that the series changes into STAGE.
stage_originals()
{
	local from=$1 stage=$2 t orig
	for t in "${targets[@]}"; do
		orig=$(pristine "$from" "$t") || continue
		copy_file "$orig" "$stage/$t"
	done
}

# Apply one diff in STAGE without fuzz. If it does not fit, say why, and exit.
lay_patch()
{
	local f=$1 stage=$2 t out hunks
	t=$(patch_target "$f") || exit 2
	[ -e "$stage/$t" ] || die "$f: this kernel has no $t"
	find_source "$f"
	if out=$(patch -p1 -F0 -N -r - --no-backup-if-mismatch -d "$stage" <"$source" 2>&1); then
		return 0
	fi
	if patch -p1 -F0 -R -f --dry-run -d "$stage" <"$source" >/dev/null 2>&1; then
		die "$f: $t is changed already: start from a pristine tree, or is the series in it already?"
	fi
	hunks=$(sed -n 's/^Hunk #\([0-9]*\) FAILED at \([0-9]*\).*/\1 (line \2)/p' <<<"$out")
	[ -n "$hunks" ] || die "$f: not a patch for $t: ${out##*$'\n'}"
	die "$f: hunk ${hunks//$'\n'/, } does not fit $t: remake it for this kernel"
}

# Change a new file of the series to what the overlay's kernel needs.
lay_compat()
{
	patch -s -p1 -F0 -N -r - --no-backup-if-mismatch -d "$2" <"$overlay/$1.compat.patch" >/dev/null ||
		die "${overlay#"$top/"}/$1.compat.patch does not fit $1: remake it"
}

# Apply the files of patch NAME in STAGE. FROM is the kernel tree, which may contain an older
# application of the series.
lay()
{
	local name=$1 from=$2 stage=$3 f
	while IFS= read -r f; do
		[ -n "$f" ] || continue
		if is_patch "$f"; then
			lay_patch "$f" "$stage"
		elif pristine "$from" "$f" >/dev/null; then
			die "$f is new in the series but exists in the kernel tree: start from a pristine one, or is it in it already?"
		else
			find_source "$f"
			copy_file "$source" "$stage/$f"
			[ ! -e "$overlay/$f.compat.patch" ] || lay_compat "$f" "$stage"
		fi
	done < <(printf '%s' "${takes[$name]}" | sort_entries)
}

# Print new files first, then diffs, each in the order of the input.
sort_entries()
{
	awk '/\.patch$/ && index($0, "'"$bts"'/") != 1 { p[++n] = $0; next } { print }
	     END { for (i = 1; i <= n; i++) print p[i] }'
}
