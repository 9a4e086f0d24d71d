import { existsSync, renameSync } from 'node:fs'
import { isIP } from 'node:net'
import { Failure } from '#common/errors.ts'
import type { Layout } from '../deployment/layout.ts'
import { runTool } from '../packages/run-tool.ts'
import { findProgram } from '../process/find-program.ts'

const DAYS = 3_650
const LIMIT_MS = 30_000

/** Afterwards there is a self-signed certificate for this address, made once: joining machines recognize it by its key. */
export async function keepCertificate(layout: Layout, address: string): Promise<void> {
  if (isIP(address) === 0)
    throw new Failure('invalid', `--address ${address} is no address of this machine.`)
  const { certificateFile, certificateKeyFile: keyFile } = layout
  if (!existsSync(certificateFile)) await makeCertificate(certificateFile, keyFile, address)
}

async function makeCertificate(file: string, keyFile: string, address: string): Promise<void> {
  const draft = `${file}.new`
  const kind = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
  ]
  const names = `subjectAltName=IP:${address},IP:127.0.0.1,DNS:localhost`
  await runTool(
    findProgram('openssl'),
    [
      ...kind,
      ...['-days', String(DAYS), '-subj', '/CN=weir', '-addext', names],
      ...['-keyout', keyFile, '-out', draft],
    ],
    { limitMs: LIMIT_MS },
  )
  renameSync(draft, file)
}
