import { readFileSync, statSync } from 'node:fs'
import { Type } from 'typebox'
import { type EnvReader, SettingsError } from '#common/env.ts'
import { checkedSettings, readSettingsFile, type SettingsPlace } from '#common/settings-file.ts'
import type { BmcSettings } from '#drivers/ipmi/bmc-settings.ts'
import { readAgent, readPacemaker } from './agent-settings.ts'
import type { FenceDeviceSettings } from './fence-device.ts'

const SETTING = 'CELL_FENCE_DEVICES_FILE'
const IPMI_PORT = 623
/** IPMI 2.0, table 13-11. */
const USER_BYTES_MAX = 16
const PASSWORD_BYTES_MAX = 20

const DevicesFile = Type.Record(
  Type.String({ minLength: 1 }),
  Type.Record(Type.String(), Type.Unknown()),
)

const BmcDevice = Type.Object(
  {
    bmc: Type.String({ minLength: 1 }),
    port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
    user: Type.String({ minLength: 1, maxLength: USER_BYTES_MAX }),
    password_file: Type.String({ minLength: 1 }),
    privilege: Type.Optional(Type.Union([Type.Literal('operator'), Type.Literal('administrator')])),
  },
  { additionalProperties: false },
)

/** The fence devices of hosts, by the hosts' names. */
export type FenceDevices = ReadonlyMap<string, FenceDeviceSettings>

/** Where a cell reads its fence devices. */
export interface FenceDevicesSource {
  readonly devicesFile: string
  /** The one directory of the programs that it runs to fence hosts. */
  readonly agentsDirectory: string
}

/** How a cell fences hosts that do not answer. */
export interface FencingSettings extends Omit<FenceDevicesSource, 'devicesFile'> {
  /** Absent: no host has a device. */
  readonly devicesFile?: string
  /** Hosts without a device stop their guests by themselves, so long after the cell ended its contact; absent: they do not. */
  readonly stopsItselfAfterMs?: number
  /** How long a host has not answered before it is fenced. */
  readonly afterMs: number
  /** While more hosts than this do not answer, none is fenced: the cell itself may be cut off. */
  readonly hostsMax: number
}

const AFTER_S = 30
const AFTER_S_MIN = 5
const HOSTS_MAX = 2
/** Where Debian's package has them. */
const AGENTS_DIRECTORY = '/usr/sbin'

/** `fenceAfterS` as CELL_FENCE_AFTER_S. Undefined where no host is fenced. Throws `SettingsError` for a file that cannot be used. */
export function readFencing(read: EnvReader, fenceAfterS: number): FencingSettings | undefined {
  const devicesFile = read.optionalText('FENCE_DEVICES_FILE')
  const settings = {
    afterMs: 1_000 * read.integer('FENCE_HOSTS_AFTER_S', AFTER_S, AFTER_S_MIN),
    hostsMax: read.integer('FENCE_HOSTS_MAX', HOSTS_MAX, 1),
    agentsDirectory: read.text('FENCE_AGENTS_DIRECTORY', AGENTS_DIRECTORY),
  }
  const isSelfFencing = read.boolean('SELF_FENCING', false)
  if (isSelfFencing && fenceAfterS === 0)
    throw new SettingsError([
      'CELL_SELF_FENCING: hosts stop their guests by themselves only where CELL_FENCE_AFTER_S says after how long',
    ])
  if (devicesFile === undefined && !isSelfFencing) return undefined
  if (devicesFile !== undefined) readFenceDevices({ devicesFile, ...settings })
  return {
    ...settings,
    ...(devicesFile !== undefined && { devicesFile }),
    ...(isSelfFencing && { stopsItselfAfterMs: 1_000 * fenceAfterS }),
  }
}

/** Throws `SettingsError`, which names the file and each wrong value. */
export function readFenceDevices({
  devicesFile: file,
  agentsDirectory,
}: FenceDevicesSource): FenceDevices {
  const devices = Object.entries(readSettingsFile(SETTING, file, DevicesFile))
  return new Map(
    devices.map(([host, content]): [string, FenceDeviceSettings] => {
      const place = { setting: SETTING, file, at: `/${host}` }
      if ('agent' in content) return [host, { agent: readAgent(place, content, agentsDirectory) }]
      if ('pacemaker' in content)
        return [host, { pacemaker: readPacemaker(place, content, agentsDirectory) }]
      return [host, { bmc: readBmc(place, host, content) }]
    }),
  )
}

function readBmc(place: SettingsPlace, host: string, content: unknown): BmcSettings {
  const device = checkedSettings(place, BmcDevice, content)
  const { bmc, port = IPMI_PORT, user, password_file, privilege = 'operator' } = device
  const password = passwordIn(place.file, host, password_file)
  return { address: bmc, port, user, password, privilege }
}

function passwordIn(file: string, host: string, passwordFile: string): string {
  let password: string
  try {
    password = readFileSync(passwordFile, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw new SettingsError([`${SETTING}: ${file}: password_file of ${host}: ${String(error)}`])
  }
  if (Buffer.byteLength(password) <= PASSWORD_BYTES_MAX) return password
  throw new SettingsError([
    `${SETTING}: ${file}: the password in ${passwordFile} is longer than ${PASSWORD_BYTES_MAX} bytes, the most that a BMC knows.`,
  ])
}

/** The devices of a file, read again when it has changed. */
export class WatchedFenceDevices {
  readonly #source: FenceDevicesSource | undefined
  #readAt = Number.NaN
  #devices: FenceDevices = new Map()
  #problem: string | null = null

  constructor({
    devicesFile,
    agentsDirectory,
  }: Pick<FencingSettings, 'devicesFile' | 'agentsDirectory'>) {
    this.#source = devicesFile === undefined ? undefined : { devicesFile, agentsDirectory }
  }

  /** Why the file cannot be used as it is now; null: it can. */
  get problem(): string | null {
    return this.#problem
  }

  /** Those of the file, or those that it had when it could last be used. */
  read(): FenceDevices {
    if (this.#source === undefined) return this.#devices
    try {
      const { mtimeMs } = statSync(this.#source.devicesFile)
      if (mtimeMs === this.#readAt) return this.#devices
      this.#devices = readFenceDevices(this.#source)
      this.#readAt = mtimeMs
      this.#problem = null
    } catch (error) {
      if (!(error instanceof Error)) throw error
      this.#problem = error.message
    }
    return this.#devices
  }
}
