import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { readCertificate } from '#common/tls/certificate.ts'
import {
  createCertificate,
  forgetCertificates,
  trustCertificate,
  useCertificate,
} from './certificate.ts'
import type { Folders } from './control-plane.ts'
import { initControlPlane } from './init.ts'

// Goal: a machine's certificate is replaced in steps, after each of which services that read it again know those of
// machines that are a step behind or ahead; and none that would cut the machines off from each other is taken.

const NAMES = 'IP:127.0.0.1,IP:127.0.0.2,IP:127.0.0.3,DNS:cloud.example.org'
const home = mkdtempSync(join(tmpdir(), 'weir-replace-'))
let count = 0
let folders: Folders

beforeEach(async () => {
  const own = join(home, String((count += 1)))
  folders = { directory: join(own, 'etc'), state: join(own, 'state') }
  const machines = ['127.0.0.1', '127.0.0.2', '127.0.0.3']
  const options = { machines, endpoint: 'cloud.example.org', set: [] }
  await initControlPlane(folders, options, () => undefined)
})

afterAll(() => rmSync(home, { recursive: true }))

const path = (name: string) => join(folders.directory, name)
const read = (name: string) => readFileSync(path(name), 'utf8')
const pair = () => readCertificate({ certificateFile: path('tls.crt'), keyFile: path('tls.key') })

const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj']

/** Puts a certificate there that is to replace the present one, by default from an authority of its own. */
function putNext(...options: readonly string[]): void {
  const files = ['-keyout', path('next.key'), '-out', path('next.crt')]
  const name = options.includes('-addext') ? [] : ['-addext', `subjectAltName=${NAMES}`]
  execFileSync('openssl', ['req', '-x509', ...EC, '/CN=own', ...name, ...files, ...options], {
    stdio: 'ignore',
  })
}

function makeAuthority(): readonly string[] {
  const [cert, key] = [path('own-ca.crt'), path('own-ca.key')]
  execFileSync('openssl', ['req', '-x509', ...EC, '/CN=ca', '-keyout', key, '-out', cert], {
    stdio: 'ignore',
  })
  return ['-CA', cert, '-CAkey', key, '-addext', 'basicConstraints=critical,CA:FALSE']
}

test('a new certificate is trusted, used, and then the former one forgotten', async () => {
  const former = read('tls.crt')
  const formerPin = pair().pin
  chmodSync(path('tls.key'), 0o640)
  await createCertificate(folders)
  const [next, key] = [read('next.crt'), read('next.key')]

  trustCertificate(folders)
  trustCertificate(folders)
  expect(read('tls.crt')).toBe(former + next)
  expect(pair().pin).toBe(formerPin)

  useCertificate(folders)
  expect(read('tls.crt')).toBe(next + former)
  expect(pair().key).toBe(key)
  expect(statSync(path('tls.key')).mode & 0o777).toBe(0o640)
  expect([existsSync(path('next.crt')), existsSync(path('next.key'))]).toEqual([false, false])

  expect(forgetCertificates(folders)).toBe(1)
  expect(read('tls.crt')).toBe(next)
  expect(forgetCertificates(folders)).toBe(0)
})

test('one of an authority is followed by that, which stays', () => {
  putNext(...makeAuthority(), '-addext', `subjectAltName=${NAMES}`)
  const [own, authority] = [read('next.crt'), read('own-ca.crt')]
  writeFileSync(path('next.crt'), own + authority)

  trustCertificate(folders)
  useCertificate(folders)
  forgetCertificates(folders)

  expect(read('tls.crt')).toBe(own + authority)
})

test('a site whose certificate another site has signed trusts the new authority beside it', async () => {
  const other = { certificateFile: path('tls.crt'), keyFile: path('tls.key') }
  const [authority, authorityKey] = [other.certificateFile, other.keyFile].map((file) =>
    readFileSync(file, 'utf8'),
  )
  writeFileSync(path('authority.crt'), authority!)
  writeFileSync(path('authority.key'), authorityKey!)
  await createCertificate(folders)
  const own = read('next.crt')
  expect(own.endsWith(authority!)).toBe(true)

  trustCertificate(folders)
  useCertificate(folders)
  forgetCertificates(folders)

  expect(read('tls.crt')).toBe(own)
  expect(read('authority.crt')).toBe(authority)
})

test("HAProxy's own copy of an installation that has one is replaced too", async () => {
  writeFileSync(path('haproxy.pem'), read('tls.crt') + read('tls.key'))
  await createCertificate(folders)
  trustCertificate(folders)

  useCertificate(folders)

  expect(read('haproxy.pem')).toBe(read('tls.crt') + read('tls.key'))
})

test('no second one is created meanwhile, and the former one is not forgotten', async () => {
  await createCertificate(folders)

  await expect(createCertificate(folders)).rejects.toThrow(/next\.crt exists/)
  expect(() => forgetCertificates(folders)).toThrow(/still to replace the present one/)
})

test('where nothing is to be used, the message says how to make it', () => {
  expect(() => useCertificate(folders)).toThrow(/next\.crt does not exist\. Make it with/)
})

test('one that no service trusts yet is not used', async () => {
  await createCertificate(folders)

  expect(() => useCertificate(folders)).toThrow(/Nothing here trusts .*next\.crt yet/)
})

test('one without its key, or with another one, is not used', async () => {
  await createCertificate(folders)
  trustCertificate(folders)
  const before = read('tls.crt')

  writeFileSync(path('next.key'), read('tls.key'))
  expect(() => useCertificate(folders)).toThrow(/next\.key is not the key of/)
  rmSync(path('next.key'))
  expect(() => useCertificate(folders)).toThrow(/next\.key does not exist/)
  expect(read('tls.crt')).toBe(before)
})

describe('one is refused, and nothing changed,', () => {
  const named = ['-addext', `subjectAltName=${NAMES}`]

  test.each<[string, () => void, RegExp]>([
    [
      'that is not for every machine',
      () => putNext('-addext', 'subjectAltName=IP:127.0.0.1,DNS:cloud.example.org'),
      /is not for 127\.0\.0\.2, 127\.0\.0\.3/,
    ],
    [
      'that is for servers only',
      () => putNext(...named, '-addext', 'extendedKeyUsage=serverAuth'),
      /lacks the extended key usage clientAuth/,
    ],
    [
      'whose authority is not in the file',
      () => putNext(...makeAuthority(), ...named),
      /lacks the certificate of its authority, CN=ca/,
    ],
    ['that is no certificate', () => writeFileSync(path('next.crt'), 'x'), /has no certificate/],
  ])('%s', (_, put, said) => {
    const before = read('tls.crt')
    put()

    expect(() => trustCertificate(folders)).toThrow(said)
    expect(read('tls.crt')).toBe(before)
  })
})
