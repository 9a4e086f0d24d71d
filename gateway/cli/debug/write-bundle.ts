import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { pack } from 'tar-stream'
import { errorChain } from '#common/errors.ts'
import type { CloudOptions } from '../cloud/cloud-config.ts'
import { openSession, type Session } from '../cloud/session.ts'
import { allHosts } from '../hosts/all-hosts.ts'
import type { Operator } from '../operator.ts'
import type { BundleFile } from './bundle-file.ts'
import { redactText } from './redact-text.ts'

export interface BundleOptions extends CloudOptions {
  /** Where to write it. */
  readonly file?: string
}

const OWNER_ONLY = 0o600

/** Afterwards there is an archive of the state of the cloud and of the deployment here, without secrets. */
export async function writeBundle(operator: Operator, options: BundleOptions): Promise<void> {
  const stamp = new Date().toISOString().replaceAll(/\D/g, '').slice(0, 14)
  const { file = `weir-debug-${stamp}.tar.gz` } = options
  const files = [
    ...(await collectFromCloud(() => openSession(operator, options))),
    ...(await operator.localFiles()),
  ]
  const archive = pack()
  for (const { name, text } of files)
    archive.entry({ name: `weir-debug/${name}` }, redactText(text))
  archive.finalize()
  // Never over a file that is there.
  const target = createWriteStream(file, { flags: 'wx', mode: OWNER_ONLY })
  await pipeline(archive, createGzip(), target)
  for (const { name } of files) operator.err.write(`${name}\n`)
  operator.out.write(`${file}\n`)
}

/** Of what has no end, that many. */
const NEWEST = 1_000

/** All data of the API about the whole cloud, a file each. A request that fails becomes the reason why. */
export async function collectFromCloud(
  open: () => Promise<Session>,
): Promise<readonly BundleFile[]> {
  let session: Session
  try {
    session = await open()
  } catch (error) {
    return [{ name: 'cloud/error.txt', text: `${errorChain(error)}\n` }]
  }
  const { federation } = session
  const parts: Readonly<Record<string, () => Promise<unknown>>> = {
    versions: () => federation.ask('get', '/'),
    cells: () => federation.ask('get', '/v1/cells'),
    hosts: () => allHosts(session),
    events: () => federation.ask('get', '/v1/events', { query: { limit: NEWEST } }),
    operations: () => federation.ask('get', '/v1/operations', { query: { limit: NEWEST } }),
    audit: () => federation.ask('get', '/v1/audit', { query: { limit: NEWEST } }),
    drivers: () => federation.ask('get', '/v1/drivers'),
  }
  return Promise.all(
    Object.entries(parts).map(async ([name, read]) => {
      try {
        return { name: `cloud/${name}.json`, text: JSON.stringify(await read()) }
      } catch (error) {
        return { name: `cloud/${name}-error.txt`, text: `${errorChain(error)}\n` }
      }
    }),
  )
}
