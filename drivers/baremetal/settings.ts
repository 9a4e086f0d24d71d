import { hostname } from 'node:os'
import { EnvReader, SettingsError } from '#common/env.ts'
import { SECRET_KEY } from '#common/secrets.ts'

export interface BaremetalSettings {
  /** Hexadecimal; what the key of the BMCs' sealed passwords is derived from. */
  readonly secretKey: string
  /** What machines reach the boot server under, such as `http://192.0.2.1:8480`. */
  readonly bootUrl: string
  readonly bootAddress: string
  readonly bootPort: number
  readonly ramdiskKernel: string
  readonly ramdiskInitrd: string
  readonly cleaning: 'zero' | 'none'
  readonly taskMinutes: number
  /** How long a BMC may be silent while its machine is at work before the work is given up. */
  readonly bmcSeconds: number
  readonly hostname: string
}

const HTTP_PORT = 80

/** Settings from plain text; throws one error that names every problem. */
export function baremetalSettings(settings: Readonly<Record<string, string>>): BaremetalSettings {
  const reader = new EnvReader(settings, '')
  const bootUrl = reader.text('boot_url')
  const url = URL.canParse(bootUrl) ? new URL(bootUrl) : undefined
  const read: BaremetalSettings = {
    secretKey: reader.secret('secret_key'),
    bootUrl,
    bootAddress: reader.text('boot_address', url?.hostname ?? ''),
    bootPort: reader.integer('boot_port', Number(url?.port) || HTTP_PORT, 0, 65_535),
    ramdiskKernel: reader.text('ramdisk_kernel'),
    ramdiskInitrd: reader.text('ramdisk_initrd'),
    cleaning: reader.choice('cleaning', ['zero', 'none'], 'zero'),
    taskMinutes: reader.integer('task_minutes', 60, 1),
    bmcSeconds: reader.integer('bmc_seconds', 120, 1),
    hostname: reader.text('hostname', hostname()),
  }
  reader.finish()
  if (url?.protocol !== 'http:')
    throw new SettingsError(['boot_url: machines boot from an http:// address'])
  if (!SECRET_KEY.test(read.secretKey))
    throw new SettingsError(['secret_key: 64 hexadecimal digits are needed'])
  return read
}
