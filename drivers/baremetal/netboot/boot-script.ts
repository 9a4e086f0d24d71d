import type { RamdiskTask } from './tasks.ts'

/** What iPXE does: boots the ramdisk with its task; without one, from the machine's next device. */
export function bootScript(
  publicUrl: string,
  assignment: { readonly token: string; readonly task: RamdiskTask } | undefined,
): string {
  if (assignment === undefined) return '#!ipxe\nexit\n'
  const { token, task } = assignment
  const image = task.kind === 'write' ? [`weir.bytes=${task.image.sizeBytes}`] : []
  const told = [`weir.url=${publicUrl}/tasks/${token}`, `weir.task=${task.kind}`, ...image]
  return `#!ipxe
kernel ${publicUrl}/ramdisk/kernel initrd=initrd console=ttyS0 quiet panic=10 ${told.join(' ')}
initrd --name initrd ${publicUrl}/ramdisk/initrd
boot
`
}
