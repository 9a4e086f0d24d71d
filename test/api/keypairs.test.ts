import { execFileSync } from 'node:child_process'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Microversion } from '#openapi/microversions.ts'
import { type ApiClient, type ComputeApi, computeApi } from '#test/env/compute-api.ts'

const PUBLIC_KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f me@here'

let api: ComputeApi
let admin: ApiClient
let alice: ApiClient
let bob: ApiClient

beforeAll(async () => {
  api = await computeApi('keypairs')
  admin = await api.user('admin', 'admin', 'admin')
  alice = await api.user('alice', 'blue', 'member')
  bob = await api.user('bob', 'blue', 'member')
})

afterAll(() => api?.[Symbol.asyncDispose]())

interface OneKeypair {
  readonly keypair: Readonly<Record<string, unknown>>
}
interface KeypairPage {
  readonly keypairs: readonly { readonly keypair: { readonly name: string } }[]
  readonly keypairs_links?: readonly [{ readonly href: string }]
}

const create = (client: ApiClient, keypair: object, version: Microversion = '2.1') =>
  client.call<OneKeypair>('createKeypair', { body: { keypair }, version })
const namesOf = async (client: ApiClient, query = '', version: Microversion = '2.35') => {
  const { body } = await client.call<KeypairPage>('listKeypairs', { query, version })
  return body.keypairs.map(({ keypair }) => keypair.name)
}

test('a public key is imported, shown, listed and deleted', async () => {
  const created = await create(alice, { name: 'k1', public_key: PUBLIC_KEY })
  expect([created.status, created.body.keypair]).toEqual([
    200,
    {
      name: 'k1',
      public_key: PUBLIC_KEY,
      fingerprint: expect.stringMatching(/^([0-9a-f]{2}:){15}[0-9a-f]{2}$/),
      user_id: alice.userId,
    },
  ])
  const params = { keypair_name: 'k1' }
  const shown = await alice.call<OneKeypair>('showKeypair', { params })
  expect(shown.body.keypair).toMatchObject({ name: 'k1', user_id: alice.userId, deleted: false })
  expect(await namesOf(alice)).toEqual(['k1'])
  expect((await create(alice, { name: 'k1', public_key: PUBLIC_KEY })).body).toEqual({
    conflictingRequest: { code: 409, message: "Key pair 'k1' already exists." },
  })

  expect((await alice.call('deleteKeypair', { params })).status).toBe(202)
  expect((await alice.call('showKeypair', { params })).status).toBe(404)
  expect((await alice.call('deleteKeypair', { params, version: '2.2' })).status).toBe(404)
})

test('a keypair has a type, and is created with 201, from 2.2 on', async () => {
  const keypair = { name: 'typed', public_key: PUBLIC_KEY, type: 'ssh' }
  expect((await create(alice, keypair, '2.1')).status).toBe(400)
  const created = await create(alice, keypair, '2.2')

  expect([created.status, created.body.keypair['type']]).toEqual([201, 'ssh'])
})

test('a pair is made where no public key is given, until 2.91', async () => {
  const made = await create(alice, { name: 'made' }, '2.91')
  expect(made.body.keypair['private_key']).toContain('PRIVATE KEY')
  expect((await create(alice, { name: 'made2' }, '2.92')).status).toBe(400)
  const shown = await alice.call<OneKeypair>('showKeypair', { params: { keypair_name: 'made' } })
  expect(shown.body.keypair).not.toHaveProperty('private_key')
})

test.each([
  { name: 'a/b', public_key: PUBLIC_KEY },
  { name: '', public_key: PUBLIC_KEY },
  { name: 'bad', public_key: 'ssh-rsa nothing' },
  { name: 'bad', public_key: `${PUBLIC_KEY}\n${PUBLIC_KEY}` },
  { name: 'bad', public_key: 'no certificate', type: 'x509' },
])('a keypair such as %j is refused', async (keypair) => {
  expect((await create(alice, keypair, '2.10')).status).toBe(400)
})

test("keypairs are a user's own, except for administrators from 2.10 on", async () => {
  await create(alice, { name: 'own', public_key: PUBLIC_KEY })
  const params = { keypair_name: 'own' }
  const query = `?user_id=${alice.userId}`

  expect((await bob.call('showKeypair', { params })).status).toBe(404)
  expect((await bob.call('showKeypair', { params, query, version: '2.10' })).status).toBe(403)
  expect((await bob.call('deleteKeypair', { params, query, version: '2.10' })).status).toBe(403)
  expect((await admin.call('showKeypair', { params, query, version: '2.9' })).status).toBe(404)
  expect((await admin.call('showKeypair', { params, query, version: '2.10' })).status).toBe(200)
  const given = { name: 'gift', public_key: PUBLIC_KEY, user_id: bob.userId }
  expect((await create(alice, given, '2.10')).status).toBe(403)
  expect((await create(admin, given, '2.10')).status).toBe(201)
  expect(await namesOf(bob)).toEqual(['gift'])
})

test('keypairs are paged by name from 2.35 on', async () => {
  const carol = await api.user('carol', 'green', 'member')
  for (const name of ['b', 'd', 'a', 'c']) await create(carol, { name, public_key: PUBLIC_KEY })

  expect(await namesOf(carol, '?limit=2', '2.34')).toEqual(['a', 'b', 'c', 'd'])
  expect(await namesOf(carol, '?limit=2')).toEqual(['a', 'b'])
  expect(await namesOf(carol, '?limit=2&marker=b')).toEqual(['c', 'd'])
  const first = await carol.call<KeypairPage>('listKeypairs', {
    query: '?limit=2',
    version: '2.35',
  })
  expect(first.body.keypairs_links?.[0].href).toBe(
    'http://gw.example/compute/v2.1/os-keypairs?limit=2&marker=b',
  )
  const missing = await carol.call('listKeypairs', { query: '?marker=x', version: '2.35' })
  expect(missing.status).toBe(400)
})

test('an x509 pair is made until 2.91: a certificate, and its key in a bundle', async () => {
  const { status, body } = await create(alice, { name: 'windows', type: 'x509' }, '2.91')
  const { public_key: certificate, private_key: bundle, fingerprint } = body.keypair
  const parsed = new X509Certificate(String(certificate))

  expect(status).toBe(201)
  expect(parsed.subject).toBe(`CN=${alice.userId}`)
  expect(parsed.subjectAltName).toContain('othername:')
  expect(fingerprint).toBe(parsed.fingerprint.toLowerCase())
  const made = { input: Buffer.from(String(bundle), 'base64') }
  const key = execFileSync('openssl', ['pkcs12', '-nocerts', '-nodes', '-passin', 'pass:'], made)
  expect(parsed.checkPrivateKey(createPrivateKey(key))).toBe(true)
  expect((await create(alice, { name: 'later', type: 'x509' }, '2.92')).status).toBe(400)
})
