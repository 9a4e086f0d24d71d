# What the builds of the tiny guest and of the ramdisk share. They source this file in the folder where they build.

# Unpacks the newest kernel of a meta package to ./unpacked, and sets `version` to its release. Nothing is installed.
unpack_kernel() {
  package=$(apt-cache depends "$1" | awk '/Depends: linux-image/ { print $2; exit }')
  [ -n "$package" ] || { echo "apt knows no $1: run apt-get update" >&2; exit 1; }
  apt-get download -q "$package" >&2
  dpkg-deb -x "$package"_*.deb unpacked
  version=$(ls unpacked/lib/modules)
  /sbin/depmod -b unpacked "$version"
}

# Packs ./root into initrd.gz, with busybox, this init, and these modules of the unpacked kernel in the order in which
# they are loaded.
pack_initrd() {
  mkdir -p root/bin root/lib/modules
  cp /bin/busybox root/bin/
  cp "$1" root/init
  chmod 755 root/init
  for module in $2; do
    /sbin/modprobe -d "$PWD/unpacked" -S "$version" --show-depends "$module" 2>/dev/null
  done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' > modules
  : > root/lib/modules/order
  while read -r file; do
    path=${file#"$PWD/unpacked/"}
    mkdir -p "root/$(dirname "$path")"
    cp "$file" "root/$path"
    echo "/$path" >> root/lib/modules/order
  done < modules
  (cd root && find . | LC_ALL=C sort | cpio -o -H newc --quiet --reproducible | gzip -9n) > initrd.gz
}
