import { mkdir, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BmcSettings } from '#drivers/ipmi/bmc-settings.ts'

/** A kernel on an emulated CPU that has to wait takes its timer for broken, and panics. */
export const EMULATED_KERNEL = 'no_timer_check'

/** What `ipmi_sim` runs to switch a machine. */
export const CHASSIS = fileURLToPath(new URL('chassis', import.meta.url))

/** A machine of QEMU's behind a BMC of `ipmi_sim`'s. */
export interface MachinePlan {
  readonly directory: string
  readonly bmc: BmcSettings
  /** Where its serial port listens. */
  readonly serialPort: number
  readonly diskMb: number
  /** What its disk begins with. */
  readonly content?: Buffer
}

/** A temperature of 0x60 raw, and an empty log of events. */
const DEVICES = `mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02
sel_enable 0x20 1000 0x0a
sensor_add 0x20 0 2 0x01 0x01
sensor_set_value 0x20 0 2 0x60 0
sensor_set_event_support 0x20 0 2 enable scanning per-state 000000000000000 000000000000000 000000000000000 000000000000000
main_sdr_add 0x20 0x00 0x00 0x51 0x01 0x31 0x20 0x00 0x02 0x03 0x01 0x67 0x88 0x01 0x01 0xc0 0x7a 0xc0 0x7a 0x38 0x38 0x00 0x01 0x00 0x00 0x01 0x00 0x00 0x00 0x00 0x00 0x03 0x60 0xb0 0x00 0xb0 0x00 0xa0 0x90 0x66 0x00 0x00 0x00 0x00 0x00 0x00 0x00 0x00 0xc6 0x44 0x4a 0x54 0x65 0x6d 0x70
mc_enable 0x20
`

/** Afterwards the machine's folder holds its disk and what its BMC reads when it starts. */
export async function writeMachineFiles(plan: MachinePlan): Promise<void> {
  const { directory, diskMb, content = '' } = plan
  await mkdir(join(directory, 'state'), { recursive: true })
  const disk = join(directory, 'disk.img')
  await writeFile(disk, content)
  await truncate(disk, diskMb * 1024 ** 2)
  await writeFile(join(directory, 'devices'), DEVICES)
  await writeFile(join(directory, 'lan.conf'), lanConf(plan), { mode: 0o600 })
}

/** How `ipmi_sim` is started in the machine's folder. */
export const SIMULATOR_ARGUMENTS = ['-c', 'lan.conf', '-f', 'devices', '-s', 'state'] as const

function lanConf({ bmc: { address, port, user, password }, serialPort }: MachinePlan): string {
  const kinds = 'none md2 md5 straight'
  return `name "machine"
set_working_mc 0x20
  startlan 1
    addr ${address} ${port}
    priv_limit admin
    allowed_auths_callback ${kinds}
    allowed_auths_user ${kinds}
    allowed_auths_operator ${kinds}
    allowed_auths_admin ${kinds}
    guid a123456789abcdefa123456789abcdef
  endlan
  chassis_control "${CHASSIS}"
  sol "tcp:127.0.0.1:${serialPort}" 115200
  user 2 true "${user}" "${password}" admin 10 ${kinds}
`
}

/** How the machine is switched on. Its disk file takes no more room than its non-zero data. */
export function qemuCommand(serialPort: number, more: readonly string[]): string {
  const serial = `tcp:127.0.0.1:${serialPort},server=on,wait=off,logfile=console.log,logappend=on`
  return [
    'qemu-system-x86_64 -M pc -accel tcg -m 256 -display none',
    `-serial ${serial}`,
    '-drive file=disk.img,format=raw,if=virtio,detect-zeroes=unmap,discard=unmap',
    ...(more.length === 0 ? ['-nic none'] : more),
  ].join(' ')
}
