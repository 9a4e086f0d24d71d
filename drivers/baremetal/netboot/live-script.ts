import type { KeptBoot } from './live-boots.ts'

/** What iPXE does for a machine that does not boot from its disk. */
export function liveScript(publicUrl: string, { files, commandLine, token }: KeptBoot): string {
  const at = `${publicUrl}/live/${token}`
  if (files.kernel === undefined) return `#!ipxe\nsanboot --no-describe ${at}/iso\n`
  if (files.ramdisk === undefined) return `#!ipxe\nkernel ${at}/kernel ${commandLine}\nboot\n`
  return `#!ipxe
kernel ${at}/kernel initrd=initrd ${commandLine}
initrd --name initrd ${at}/ramdisk
boot
`
}
