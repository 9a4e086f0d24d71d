/** Debian packages that building the ramdisk needs, beside what every installation has. */
export const RAMDISK_PACKAGES = ['busybox-static', 'cpio', 'kmod'] as const
