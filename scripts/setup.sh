#!/bin/sh
# Installs what building and running on WebGPU needs and this machine lacks: a C compiler, the Vulkan loader, and any
# Vulkan driver (the software one). Does nothing where all is there.
set -eu

have_compiler() { command -v "${CC:-cc}" >/dev/null 2>&1 || command -v gcc >/dev/null 2>&1; }

# ldconfig is often outside an ordinary user's PATH.
libraries() { { ldconfig -p || /sbin/ldconfig -p || ls /usr/lib /usr/lib64 /usr/lib/*-linux-*; } 2>/dev/null; }
have_loader() { libraries | grep -q 'libvulkan\.so\.1'; }

have_driver() {
	[ -n "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ] && return 0
	for dir in /usr/share/vulkan/icd.d /usr/local/share/vulkan/icd.d /etc/vulkan/icd.d "${HOME:-/nonexistent}/.local/share/vulkan/icd.d"; do
		for file in "$dir"/*.json; do
			[ -e "$file" ] && return 0
		done
	done
	return 1
}

if [ "$(uname -s)" != Linux ]; then
	have_compiler && exit 0
	echo "setup: no C compiler found; install one (macOS: xcode-select --install) and run this again" >&2
	exit 1
fi

missing=
have_compiler || missing="$missing compiler"
have_loader || missing="$missing loader"
have_driver || missing="$missing driver"
[ -n "$missing" ] || exit 0
echo "setup: missing:$missing"

# name COMPILER LOADER DRIVER prints the packages for what is missing.
name() {
	for part in $missing; do
		case $part in
		compiler) echo "$1" ;;
		loader) echo "$2" ;;
		driver) echo "$3" ;;
		esac
	done
}

root=
if [ "$(id -u)" != 0 ]; then
	root=sudo
	command -v sudo >/dev/null 2>&1 || { echo "setup: run this as root, or install sudo" >&2; exit 1; }
fi

run() {
	echo "setup: $*"
	"$@"
}

# shellcheck disable=SC2046 # package names are words
if command -v apt-get >/dev/null 2>&1; then
	run $root apt-get update
	run $root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
		$(name "gcc libc6-dev" libvulkan1 mesa-vulkan-drivers)
elif command -v dnf >/dev/null 2>&1; then
	run $root dnf install -y $(name gcc vulkan-loader mesa-vulkan-drivers)
elif command -v pacman >/dev/null 2>&1; then
	run $root pacman -S --needed --noconfirm $(name gcc vulkan-icd-loader vulkan-swrast)
elif command -v zypper >/dev/null 2>&1; then
	run $root zypper --non-interactive install $(name gcc libvulkan1 Mesa-vulkan-drivers)
elif command -v apk >/dev/null 2>&1; then
	run $root apk add $(name "gcc musl-dev" vulkan-loader mesa-vulkan-swrast)
else
	echo "setup: no package manager that this script knows; install:$missing (a C compiler, the Vulkan loader, a Vulkan driver such as Mesa's lavapipe)" >&2
	exit 1
fi
