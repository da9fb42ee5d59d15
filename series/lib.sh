# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2034
#
# What apply, export and check share: reading series/series, finding the
# pristine kernel, and laying one patch's files over a tree.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bts=tools/testing/selftests/bts
stamp_dir=.bts-series
default_kernel=${BTS_KERNEL:-/usr/src/linux-source-6.12.tar.xz}

# Not part of the kernel tree: everything else must be in exactly one patch.
outside='^(README|COPYING|\.gitignore|\.ci/.*|series/.*|man-pages/.*|\.git/.*)$'

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

# git in the scratch tree, without the settings of whoever runs this.
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
		# The clone may be somebody else's, whose scripts run here anyway.
		git -C "$top" -c core.quotePath=false -c safe.directory='*' \
			ls-files -co --exclude-standard
	else
		(cd "$top" && find . -type f -printf '%P\n')
	fi
}

# Print the files that belong into the kernel tree, one per line.
tree_files()
{
	list_files | grep -Ev "$outside" | sort -u | while IFS= read -r f; do
		[ ! -e "$top/$f" ] && [ ! -L "$top/$f" ] || echo "$f"
	done
}

# Read series/series: patches=(NAME...), takes[NAME]=files, one per line.
# An entry with a trailing slash takes what no longer entry names below it.
read_series()
{
	local line name='' f d
	declare -gA takes=() taken_by=()
	patches=()
	list_files >/dev/null || die "cannot list the files of $top: does git work there?"
	[ -r "$top/series/series" ] || die "no series/series beside me: run me from a complete clone"
	while IFS= read -r line || [ -n "$line" ]; do
		case $line in
		'' | '#'*) continue ;;
		[[:space:]]*)
			f=${line#"${line%%[![:space:]]*}"}
			[ -n "$name" ] || die "series/series: '$f' stands before the first patch name"
			[ -z "${taken_by[$f]}" ] ||
				die "series/series: $f is in ${taken_by[$f]} and in $name: leave it in one"
			taken_by[$f]=$name
			[[ $f = */ ]] || takes[$name]+=$f$'\n'
			;;
		*)
			name=$line
			[[ $name =~ ^[0-9]{4}-[a-z0-9-]+$ ]] ||
				die "series/series: '$name' is not a patch name (NNNN-name) nor indented like a file"
			[[ ${#patches[@]} = 0 || ${patches[-1]} < $name ]] ||
				die "series/series: $name stands after ${patches[-1]}: keep the numbers rising"
			patches+=("$name")
			;;
		esac
	done <"$top/series/series"
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

# A diff against a kernel file; the bench's own patches are plain files.
is_patch()
{
	[[ $1 = *.patch && $1 != "$bts"/* ]]
}

# Print the kernel file that FILE.TOPIC.patch (or FILE.patch) changes.
patch_target()
{
	local file=${1%.patch} target
	target=$(sed -n 's,^+++ b/\([^[:space:]]*\).*,\1,p' "$top/$1")
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
			if [ ! -f "$top/$f" ] || [ -L "$top/$f" ]; then
				die "series/series: $p takes $f, which is not a file here"
			fi
			is_patch "$f" || continue
			t=$(patch_target "$f") || exit 2
			targets+=("$t")
		done <<<"${takes[$p]}"
	done
}

is_kernel()
{
	grep -qs '^PATCHLEVEL = ' "$1/Makefile" && [ -f "$1/MAINTAINERS" ] && [ -d "$1/arch/x86" ]
}

# Set kernel to a source tree: ARG itself, or ARG unpacked if it is an archive
# (only the files that the series knows, or all of them).
open_kernel()
{
	local arg=$1 what=$2 p prefix
	[ -e "$arg" ] || die "no kernel source at $arg: install linux-source-6.12 or give --kernel DIR|TAR"
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
			# Files that are new are not in there: tar complains, and is right.
			tar -xf "$arg" -C "$kernel" --strip-components=1 -T "$tmp/names" 2>/dev/null
		fi
	fi
	is_kernel "$kernel" || die "$arg is not a Linux source tree: give the top directory of one"
}

in_stamp()
{
	[ -e "$1/$stamp_dir/stamp" ] && cut -c67- "$1/$stamp_dir/stamp" | grep -qxF -- "$2"
}

# Print where the unchanged FILE is in the kernel tree $1; fail if it has none.
# A tree that apply was run on keeps the originals beside its stamp.
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

# The only two modes that git knows.
mode()
{
	if [ -x "$1" ]; then echo 755; else echo 644; fi
}

copy_file()
{
	install -D -m "$(mode "$1")" "$1" "$2" || die "cannot write $2"
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

# Apply one diff in STAGE without fuzz; name the file and the hunks otherwise.
lay_patch()
{
	local f=$1 stage=$2 t out hunks
	t=$(patch_target "$f") || exit 2
	[ -e "$stage/$t" ] || die "$f: this kernel has no $t"
	if out=$(patch -p1 -F0 -N -r - --no-backup-if-mismatch -d "$stage" <"$top/$f" 2>&1); then
		return 0
	fi
	if patch -p1 -F0 -R -f --dry-run -d "$stage" <"$top/$f" >/dev/null 2>&1; then
		die "$f: $t is changed already: start from a pristine tree, or is the series in it already?"
	fi
	hunks=$(sed -n 's/^Hunk #\([0-9]*\) FAILED at \([0-9]*\).*/\1 (line \2)/p' <<<"$out")
	[ -n "$hunks" ] || die "$f: not a patch for $t: ${out##*$'\n'}"
	die "$f: hunk ${hunks//$'\n'/, } does not fit $t: remake it for this kernel"
}

# Lay the files of patch NAME over STAGE, the original kernel being FROM.
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
			copy_file "$top/$f" "$stage/$f"
		fi
	done < <(printf '%s' "${takes[$name]}" | sort_entries)
}

# New files first, then diffs in the order of series/series.
sort_entries()
{
	awk '/\.patch$/ && index($0, "'"$bts"'/") != 1 { p[++n] = $0; next } { print }
	     END { for (i = 1; i <= n; i++) print p[i] }'
}
