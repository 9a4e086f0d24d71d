import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { Failure } from '#common/errors.ts'
import type { Operator } from '../operator.ts'

/** An entry of clouds.yaml; its other properties are not used here. */
export interface CloudEntry {
  readonly auth?: Readonly<Record<string, string>>
  readonly auth_type?: string
  readonly region_name?: string
  readonly interface?: string
  readonly cacert?: string
  readonly verify?: boolean
  readonly insecure?: boolean
}

export type Clouds = Readonly<Record<string, CloudEntry>>

const SITE_DIRECTORY = '/etc/openstack'
const EXTENSIONS = ['yaml', 'yml', 'json'] as const

/**
 * Every cloud that can be named: those of the first clouds.yaml found where openstacksdk looks for it, each with its
 * secrets from the first secure.yaml, and below them those of the deployment in this checkout.
 */
export function knownClouds(operator: Operator): Clouds {
  const { env, local } = operator
  const clouds = firstFile(operator, 'clouds', env['OS_CLIENT_CONFIG_FILE'])
  const secrets = firstFile(operator, 'secure', env['OS_CLIENT_SECURE_FILE'])
  const own = existsSync(local.file) ? cloudsIn(local.file) : {}
  const open = Object.entries(clouds).map(([name, entry]): readonly [string, CloudEntry] => [
    name,
    merged(entry, secrets[name]),
  ])
  return { ...own, ...Object.fromEntries(open) }
}

function firstFile({ directory, home }: Operator, base: string, named: string | undefined): Clouds {
  const directories = [directory, join(home, '.config', 'openstack'), SITE_DIRECTORY]
  const candidates = directories.flatMap((each) =>
    EXTENSIONS.map((extension) => join(each, `${base}.${extension}`)),
  )
  const found = [...(named === undefined ? [] : [named]), ...candidates].find(existsSync)
  return found === undefined ? {} : cloudsIn(found)
}

/** Throws `invalid` for a file that is not a clouds.yaml. */
function cloudsIn(file: string): Clouds {
  let content: unknown
  try {
    content = parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new Failure('invalid', `${file} cannot be read as YAML`, { cause })
  }
  const clouds = (content as { clouds?: Clouds } | null)?.clouds
  if (typeof clouds !== 'object' || clouds === null)
    throw new Failure('invalid', `${file} has no section 'clouds'.`)
  return clouds
}

function merged(entry: CloudEntry, secret: CloudEntry | undefined): CloudEntry {
  return { ...entry, ...secret, auth: { ...entry.auth, ...secret?.auth } }
}
