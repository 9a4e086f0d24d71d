import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { databaseUrls } from '#common/db/database-url.ts'
import { Failure } from '#common/errors.ts'
import { natsConfig } from '../nats/nats-config.ts'
import { accountSeedFile, natsKeys, operatorSeedFile } from '../nats/nats-keys.ts'
import { writeFileAtomically } from '../process/write-file-atomically.ts'

const KEY_BYTES = 32
const PASSWORD_BYTES = 24
/** Where a NATS in a container keeps accounts. */
const NATS_HOME = '/var/lib/nats'
const NATS_PORTS = { port: 4222, leafPort: 7422 } as const
const EVERY_ADDRESS = '0.0.0.0'

/**
 * Afterwards `directory` has the secrets of gateways that run in containers (0600), a file for each, and the configuration
 * of their bus; returns the paths. Existing files are kept. The names are those that deploy/compose and deploy/kubernetes use.
 */
export async function writeKeys(
  directory: string,
  databaseHost: string,
): Promise<readonly string[]> {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const path = (name: string) => join(directory, name)
  const keep = (name: string, make: () => string): string => {
    if (!existsSync(path(name))) writeFileAtomically(path(name), make())
    return path(name)
  }
  const keys = natsKeys(directory)
  const config = await natsConfig(NATS_HOME, NATS_PORTS, keys, { address: EVERY_ADDRESS })
  const password = keep('database.password', () => randomBytes(PASSWORD_BYTES).toString('hex'))
  return [
    operatorSeedFile(directory),
    accountSeedFile(directory, 'system'),
    accountSeedFile(directory, 'gateway'),
    keep('nats.conf', () => config),
    keep('gateway.key', () => randomBytes(KEY_BYTES).toString('hex')),
    keep('admin.password', () => randomBytes(PASSWORD_BYTES).toString('hex')),
    password,
    keep('database.url', () => databaseUrl(databaseHost, readFileSync(password, 'utf8'))),
  ]
}

function databaseUrl(host: string, password: string): string {
  const url = `mysql://weir:${password}@${host}/weir`
  try {
    databaseUrls(url)
  } catch (cause) {
    throw new Failure(
      'invalid',
      `'${host}' is not the host of a database. Give a name or an address, with a port if it is not 3306.`,
      { cause },
    )
  }
  return url
}
