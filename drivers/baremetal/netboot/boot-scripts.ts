import type { KeptBoot } from './live-boots.ts'
import type { RamdiskTask } from './tasks.ts'

/** What a machine is to do in the ramdisk. */
interface Assigned {
  readonly token: string
  readonly task: RamdiskTask
  /** Of the only NIC that the ramdisk uses: the others may be on networks of servers. */
  readonly macAddress: string
  /** Further parameters of the ramdisk's kernel. */
  readonly kernelParameters: string
}

/** What iPXE does: boots the ramdisk with its task; without one, from the machine's next device. */
export function bootScript(publicUrl: string, assignment: Assigned | undefined): string {
  if (assignment === undefined) return '#!ipxe\nexit\n'
  const { token, task, macAddress, kernelParameters } = assignment
  const parameters = [
    ...(kernelParameters === '' ? [] : [kernelParameters]),
    `weir.url=${publicUrl}/tasks/${token}`,
    `weir.nic=${macAddress}`,
    `weir.task=${task.kind}`,
    ...written(task),
  ]
  return `#!ipxe
kernel ${publicUrl}/ramdisk/kernel initrd=initrd console=ttyS0 quiet panic=10 ${parameters.join(' ')}
initrd --name initrd ${publicUrl}/ramdisk/initrd
boot
`
}

/** Of each patch where it goes and how long it is. */
function written(task: RamdiskTask): readonly string[] {
  if (task.kind !== 'write') return []
  const patches = task.patches.map(({ offsetBytes, content }) => `${offsetBytes}:${content.length}`)
  const besides = patches.length === 0 ? [] : [`weir.patches=${patches.join(',')}`]
  return [`weir.bytes=${task.image.sizeBytes}`, ...besides]
}

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
