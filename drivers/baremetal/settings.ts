import { hostname } from 'node:os'
import { EnvReader, SettingsError } from '#common/env.ts'
import { SECRET_KEY } from '#common/secrets.ts'
import { type OvnHostSettings, refuseOvnSettings } from '../ovn/host-settings.ts'

export interface BaremetalSettings extends OvnHostSettings {
  /** Hexadecimal; what the key of the BMCs' sealed passwords is derived from. */
  readonly secretKey: string
  /** What machines reach the boot server under, such as `http://192.0.2.1:8480`. */
  readonly bootUrl: string
  readonly bootAddress: string
  readonly bootPort: number
  readonly ramdiskKernel: string
  readonly ramdiskInitrd: string
  /** Further parameters of the ramdisk's kernel, Ironic's `kernel_append_params`; empty: none. */
  readonly kernelAppendParams: string
  readonly cleaning: 'zero' | 'none'
  readonly taskMinutes: number
  /** How long a BMC may be silent while its machine is at work before the work is given up. */
  readonly bmcSeconds: number
  readonly network: 'host' | 'ovn'
  /** What operators call the physical network from which machines boot and on which they are cleaned. */
  readonly provisioningNetwork: string
  readonly hostname: string
}

const HTTP_PORT = 80
const ONE_LINE = /^[ -~]*$/

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
    kernelAppendParams: reader.optionalText('kernel_append_params') ?? '',
    cleaning: reader.choice('cleaning', ['zero', 'none'], 'zero'),
    taskMinutes: reader.integer('task_minutes', 60, 1),
    bmcSeconds: reader.integer('bmc_seconds', 120, 1),
    network: reader.choice('network', ['host', 'ovn'], 'host'),
    provisioningNetwork: reader.text('provisioning_network', 'provisioning'),
    ovsDatabase: reader.optionalText('ovs_database'),
    networkNamespace: reader.optionalText('network_namespace'),
    hostname: reader.text('hostname', hostname()),
  }
  reader.finish()
  if (url?.protocol !== 'http:')
    throw new SettingsError(['boot_url: machines boot from an http:// address'])
  if (!ONE_LINE.test(read.kernelAppendParams))
    throw new SettingsError(['kernel_append_params: one line of printable ASCII is needed'])
  if (!SECRET_KEY.test(read.secretKey))
    throw new SettingsError(['secret_key: 64 hexadecimal digits are needed'])
  refuseOvnSettings(read.network, {
    provisioning_network: reader.optionalText('provisioning_network'),
    ovs_database: read.ovsDatabase,
    network_namespace: read.networkNamespace,
  })
  return read
}
