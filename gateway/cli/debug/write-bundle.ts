import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { pack } from 'tar-stream'
import type { CloudOptions } from '../cloud/cloud-config.ts'
import { openSession } from '../cloud/session.ts'
import type { Operator } from '../operator.ts'
import { collectFromCloud } from './collect.ts'
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
