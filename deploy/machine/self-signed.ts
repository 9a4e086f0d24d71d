import { appendFileSync, readFileSync, renameSync } from 'node:fs'
import type { CertificateFiles } from '#common/tls/certificate.ts'
import { runTool } from '../packages/run-tool.ts'
import { findProgram } from '../process/find-program.ts'

const DAYS = 3_650
const LIMIT_MS = 30_000

/**
 * Afterwards there are a key and a certificate for these names (`IP:…`, `DNS:…`), which is its own authority, or is signed
 * by an issuer, whose certificate follows it in the file.
 */
export async function makeSelfSigned(
  { certificateFile, keyFile }: CertificateFiles,
  names: readonly string[],
  issuer?: CertificateFiles,
): Promise<void> {
  const draft = `${certificateFile}.new`
  const kind = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
  await runTool(
    findProgram('openssl'),
    [
      ...kind,
      ...[
        '-nodes',
        '-days',
        String(DAYS),
        '-subj',
        issuer === undefined ? '/CN=weir' : '/CN=weir site',
      ],
      ...(issuer === undefined ? [] : ['-CA', issuer.certificateFile, '-CAkey', issuer.keyFile]),
      ...['-addext', `subjectAltName=${names.join(',')}`],
      ...['-keyout', keyFile, '-out', draft],
    ],
    { limitMs: LIMIT_MS },
  )
  if (issuer !== undefined) appendFileSync(draft, readFileSync(issuer.certificateFile))
  renameSync(draft, certificateFile)
}
