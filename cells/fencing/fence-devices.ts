import { readFileSync, statSync } from 'node:fs'
import { Type } from 'typebox'
import { type EnvReader, SettingsError } from '#common/env.ts'
import { readSettingsFile } from '#common/settings-file.ts'
import type { BmcSettings } from '#drivers/ipmi/bmc-settings.ts'

const SETTING = 'CELL_FENCE_DEVICES_FILE'
const IPMI_PORT = 623
/** IPMI 2.0, table 13-11. */
const USER_BYTES_MAX = 16
const PASSWORD_BYTES_MAX = 20

const DevicesFile = Type.Record(
  Type.String({ minLength: 1 }),
  Type.Object(
    {
      bmc: Type.String({ minLength: 1 }),
      port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
      user: Type.String({ minLength: 1, maxLength: USER_BYTES_MAX }),
      password_file: Type.String({ minLength: 1 }),
      privilege: Type.Optional(
        Type.Union([Type.Literal('operator'), Type.Literal('administrator')]),
      ),
    },
    { additionalProperties: false },
  ),
)

/** The BMCs of hosts, by the hosts' names. */
export type FenceDevices = ReadonlyMap<string, BmcSettings>

/** How a cell fences hosts that do not answer. */
export interface FencingSettings {
  readonly devicesFile: string
  /** How long a host has not answered before it is fenced. */
  readonly afterMs: number
  /** While more hosts than this do not answer, none is fenced: the cell itself may be cut off. */
  readonly hostsMax: number
}

const AFTER_S = 30
const AFTER_S_MIN = 5
const HOSTS_MAX = 2

/** Undefined where no host is fenced. Throws `SettingsError` for a file that cannot be used. */
export function readFencing(read: EnvReader): FencingSettings | undefined {
  const devicesFile = read.optionalText('FENCE_DEVICES_FILE')
  const settings = {
    afterMs: 1_000 * read.integer('FENCE_HOSTS_AFTER_S', AFTER_S, AFTER_S_MIN),
    hostsMax: read.integer('FENCE_HOSTS_MAX', HOSTS_MAX, 1),
  }
  if (devicesFile === undefined) return undefined
  readFenceDevices(devicesFile)
  return { devicesFile, ...settings }
}

/** Throws `SettingsError`, which names the file and each wrong value. */
export function readFenceDevices(file: string): FenceDevices {
  const devices = Object.entries(readSettingsFile(SETTING, file, DevicesFile))
  return new Map(
    devices.map(
      ([host, { bmc, port = IPMI_PORT, user, password_file, privilege = 'operator' }]) => {
        const password = passwordIn(file, host, password_file)
        return [host, { address: bmc, port, user, password, privilege }]
      },
    ),
  )
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
  readonly #file: string
  #readAt = Number.NaN
  #devices: FenceDevices = new Map()

  constructor(file: string) {
    this.#file = file
  }

  /** Throws `SettingsError` for a file that cannot be used. */
  read(): FenceDevices {
    const { mtimeMs } = statSync(this.#file)
    if (mtimeMs === this.#readAt) return this.#devices
    this.#devices = readFenceDevices(this.#file)
    this.#readAt = mtimeMs
    return this.#devices
  }
}
