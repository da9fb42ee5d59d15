# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
#
# Functions of apply, export and check: they read series/series, find the
# pristine kernel, and apply the files of one patch to a tree.

# In a hook or alias of git, variables such as GIT_DIR name another tree. With the others, cd, make
# and tar would use other directories or files.
# shellcheck disable=SC2046
unset CDPATH KBUILD_OUTPUT KCONFIG_CONFIG TAR_OPTIONS \
	$(git rev-parse --local-env-vars 2>/dev/null | grep -v '^GIT_CONFIG')

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
	tmp=$(cd "$tmp" && pwd -P)
	trap 'rm -rf "$tmp"' EXIT
	trap 'exit 130' INT TERM HUP
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

# Set the keys of renamed to the files in which rename.sed of the overlay changes names, and make
# their copies in $tmp/renamed.
read_renames()
{
	local f pattern
	declare -gA renamed=()
	pattern=$(sed -n 's,^s/\(.*\)/.*/g$,\1,p' "$overlay/rename.sed")
	while IFS= read -r f; do
		renamed[$f]=1
	done < <(cd "$top" && list_files | tr '\n' '\0' | xargs -0r grep -sl -- "$pattern")
	[ ${#renamed[@]} != 0 ] || return 0
	mkdir "$tmp/renamed"
	copy_files "$top" "$tmp/renamed" "${!renamed[@]}"
	(cd "$tmp/renamed" && sed -i -f "$overlay/rename.sed" -- "${!renamed[@]}") ||
		die "cannot write $tmp/renamed: free some space or set TMPDIR"
}

# Set source to the path of the file to use for FILE, and root to the directory that has it: that of
# the overlay, that of the copies in which rename.sed has changed names, or the repository.
#
# There are 1000 files, and a new process for each would take a minute. So the functions that are
# called for each file make none.
find_source()
{
	root=$top
	if [ -n "$overlay" ] && [ -e "$overlay/$1" ]; then
		root=$overlay
	elif [ -n "$overlay" ] && [ -n "${renamed[$1]}" ]; then
		root=$tmp/renamed
	fi
	source=$root/$1
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

# Set target to the kernel file that FILE.TOPIC.patch (or FILE.patch) changes.
patch_target()
{
	local file=${1%.patch} lines line
	find_source "$1"
	mapfile -t lines <"$source"
	target=
	for line in "${lines[@]}"; do
		[[ $line = '+++ b/'* ]] || continue
		line=${line#'+++ b/'}
		target+=${target:+ }${line%%[[:space:]]*}
	done
	[ -n "$target" ] || die "$1: no '+++ b/FILE' line: make it a unified diff with a/ and b/ paths"
	[ "$target" = "$file" ] || [ "$target" = "${file%.*}" ] ||
		die "$1: changes '$target', but by its name it should change ${file%.*} only"
}

# Set targets=(kernel files that the series changes).
read_targets()
{
	local p f
	targets=()
	for p in "${patches[@]}"; do
		while IFS= read -r f; do
			[ -n "$f" ] || continue
			find_source "$f"
			if [ ! -f "$source" ] || [ -L "$source" ]; then
				die "series/series: $p takes $f, which is not a file here"
			fi
			is_patch "$f" || continue
			patch_target "$f"
			targets+=("$target")
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

# Set tree to the kernel tree DIR, and the keys of stamped to the files that apply has changed in it.
read_tree()
{
	local line lines=()
	tree=$1
	declare -gA stamped=()
	[ ! -e "$tree/$stamp_dir/stamp" ] || mapfile -t lines <"$tree/$stamp_dir/stamp"
	for line in "${lines[@]}"; do
		# A line of sha256sum: the checksum, two spaces, the file.
		stamped[${line:66}]=1
	done
}

# Set root to the directory that has the unchanged FILE of the kernel tree; return 1 if there is
# none. If apply has changed the tree, the originals are in the directory of the stamp.
find_pristine()
{
	root=$tree/$stamp_dir/orig
	[ ! -e "$root/$1" ] || return 0
	root=$tree
	[ -e "$root/$1" ] && [ -z "${stamped[$1]}" ]
}

# git stores only whether a file is executable.
same_mode()
{
	if [ -x "$1" ]; then [ -x "$2" ]; else [ ! -x "$2" ]; fi
}

# Copy FILE... from the directory FROM to TO, with the current time, so that make rebuilds what
# depends on them. Replace files that exist: they may be hard links of files in another tree. The
# first tar returns 1 if a file has got another hard link meanwhile.
copy_files()
{
	local from=$1 to=$2
	shift 2
	[ $# != 0 ] || return 0
	printf '%s\0' "$@" |
		tar -C "$from" -cf - -h --hard-dereference --warning=no-file-changed \
			--mode=u=rwX,go=rX --null --verbatim-files-from -T - |
		(umask 022 && tar -C "$to" -xpmf - --no-same-owner)
	[[ ${PIPESTATUS[*]} = '0 '[01]' 0' ]] || die "cannot copy $from to $to: tar says why"
}

# Copy FILE... to TO. FIND is find_source or find_pristine. Leave out a file for which it fails.
copy_found()
{
	local to=$1 find=$2 f names
	local -A files_in=()
	for f in "${@:3}"; do
		! "$find" "$f" || files_in[$root]+=$f$'\n'
	done
	for root in "${!files_in[@]}"; do
		mapfile -t names <<<"${files_in[$root]%$'\n'}"
		copy_files "$root" "$to" "${names[@]}"
	done
}

# Copy the originals of all files that the series changes from the kernel tree DIR into STAGE.
stage_originals()
{
	read_tree "$1"
	copy_found "$2" find_pristine "${targets[@]}"
}

# Apply one diff in STAGE without fuzz. If it does not fit, say why, and exit.
lay_patch()
{
	local f=$1 stage=$2 t out hunks
	patch_target "$f"
	t=$target
	[ -e "$stage/$t" ] || die "$f: this kernel has no $t"
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

# Apply the files of patch NAME in STAGE: first the new files, then the diffs. The kernel tree may
# contain an older application of the series.
lay()
{
	local name=$1 stage=$2 f new=() diffs=()
	while IFS= read -r f; do
		if [ -z "$f" ]; then
			continue
		elif is_patch "$f"; then
			diffs+=("$f")
		elif find_pristine "$f"; then
			die "$f is new in the series but exists in the kernel tree: start from a pristine one, or is it in it already?"
		else
			new+=("$f")
		fi
	done <<<"${takes[$name]}"
	copy_found "$stage" find_source "${new[@]}"
	for f in "${new[@]}"; do
		[ -z "$overlay" ] || [ ! -e "$overlay/$f.compat.patch" ] || lay_compat "$f" "$stage"
	done
	for f in "${diffs[@]}"; do
		lay_patch "$f" "$stage"
	done
}
