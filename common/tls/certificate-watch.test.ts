import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { createLogger } from '#common/log.ts'
import { waitFor } from '#common/wait-for.ts'
import { certificatePin, readCertificate } from './certificate.ts'
import { CertificateWatch } from './certificate-watch.ts'

const LIMIT_MS = 30_000
const log = createLogger('certificate', 'silent')
let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'weir-certificate-'))
})

afterEach(() => rmSync(directory, { recursive: true }))

const filesOf = (name: string) => ({
  certificateFile: join(directory, `${name}.crt`),
  keyFile: join(directory, `${name}.key`),
})

/** A key of its own unless it is given one. */
function make(name: string, keyOf?: string): { readonly cert: string; readonly key: string } {
  const { certificateFile, keyFile } = filesOf(name)
  const key =
    keyOf === undefined
      ? ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile]
      : ['-key', filesOf(keyOf).keyFile]
  const args = ['req', '-x509', ...key, '-subj', `/CN=${name}`, '-out', certificateFile]
  execFileSync('openssl', args, { stdio: 'ignore' })
  return readCertificate(
    keyOf === undefined ? filesOf(name) : { ...filesOf(keyOf), certificateFile },
  )
}

test('a renewed certificate is taken up, and keeps its pin where it keeps its key', async () => {
  const first = make('first')
  const renewed = make('renewed', 'first')
  await using watch = new CertificateWatch(filesOf('first'), systemClock, log)
  const used: string[] = []
  watch.onRenewal(({ cert }) => used.push(cert))
  const { pin } = watch.current

  writeFileSync(filesOf('first').certificateFile, renewed.cert)
  watch.wake()

  await waitFor('the renewed one', () => used.length, LIMIT_MS)
  expect(used).toEqual([renewed.cert])
  expect(watch.current.pin).toBe(pin)
  expect(certificatePin(new X509Certificate(first.cert))).toBe(pin)
})

test('a certificate of another key is not served', async () => {
  make('own')
  const stranger = make('stranger')
  const renewed = make('renewed', 'own')
  await using watch = new CertificateWatch(filesOf('own'), systemClock, log)
  const used: string[] = []
  watch.onRenewal(({ cert }) => used.push(cert))

  writeFileSync(filesOf('own').certificateFile, stranger.cert)
  watch.wake()

  expect(() => new CertificateWatch(filesOf('own'), systemClock, log)).toThrow('is not the key of')

  writeFileSync(filesOf('own').certificateFile, renewed.cert)
  watch.wake()
  await waitFor('the one after it', () => used.length, LIMIT_MS)
  expect(used).toEqual([renewed.cert])
})
