import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { whyNoClient } from '#test/env/client-program.ts'
import { administrator, IdentityClient, type Shown } from '../api/identity-client.ts'
import { type HttpApi, type IdentityWorld, identityWorld } from '../api/identity-world.ts'

// Signatures are made by Keystone's own client, which other services use.

const why = whyNoClient('python3-keystoneclient')

let world: IdentityWorld
let http: HttpApi
let admin: IdentityClient
let demo: IdentityClient
let user: string
let project: string
let keys: { readonly access: string; readonly secret: string }

beforeAll(async () => {
  if (why !== undefined) return
  world = await identityWorld()
  http = await world.addGateway()
  const { admin: adminPassword, demo: demoPassword } = world.passwords
  await bootstrapIdentity(http.gateway.db, { adminPassword, demoPassword })
  admin = await administrator(http, adminPassword)
  demo = new IdentityClient(http, await http.logIn('demo', demoPassword))
  user = (await admin.list('/v3/users?name=demo'))[0]!.id
  project = (await admin.list('/v3/projects?name=demo'))[0]!.id
  keys = await newKeys()
})

afterAll(() => world?.[Symbol.asyncDispose]())

async function newKeys() {
  const path = `/v3/users/${user}/credentials/OS-EC2`
  const { body } = await demo.send('POST', path, { tenant_id: project })
  return body['credential'] as unknown as { access: string; secret: string }
}

const SIGN = `
import json, sys
from keystoneclient.contrib.ec2.utils import Ec2Signer
given = json.load(sys.stdin)
print(Ec2Signer(given['secret']).generate(given['credentials']))`

type Credentials = Readonly<Record<string, unknown>>

async function signed(credentials: Credentials, secret = keys.secret): Promise<Credentials> {
  const run = promisify(execFile)('/usr/bin/python3', ['-c', SIGN])
  run.child.stdin?.end(JSON.stringify({ secret, credentials }))
  const signature = (await run).stdout.trim()
  return { access: keys.access, ...credentials, signature }
}

const basic = (ms = Date.now()) => new Date(ms).toISOString().replaceAll(/[-:]|\.\d+/g, '')

const version2 = (params: object = {}) => ({
  host: 'cloud.example:8773',
  verb: 'GET',
  path: '/services/Cloud/',
  params: {
    SignatureVersion: '2',
    Action: 'Describe (all) !*',
    Timestamp: new Date().toISOString(),
    ...params,
  },
})

const version4 = (date = basic(), verb = 'POST') => ({
  host: 'cloud.example',
  verb,
  path: '/',
  params: { Action: "Describe it's" },
  headers: {
    Host: 'cloud.example',
    'X-Amz-Date': date,
    Authorization: `AWS4-HMAC-SHA256 Credential=${keys.access}/${date.slice(0, 8)}/region/ec2/aws4_request, SignedHeaders=host;x-amz-date, Signature=x`,
  },
  body_hash: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
})

const ask = (credentials: Credentials) => admin.send('POST', '/v3/ec2tokens', { credentials })

describe.skipIf(why !== undefined)(`a service gets a token (${why ?? 'installed'}) for`, () => {
  test.each([
    ['version 2', () => version2()],
    ['version 4', () => version4()],
    ['version 4 of a GET', () => version4(basic(), 'GET')],
  ])('a request signed in %s, by the owner of the key', async (_name, request) => {
    const reply = await ask(await signed(request()))

    expect(reply).toMatchObject({
      status: 200,
      body: { token: { user: { id: user }, project: { id: project }, methods: ['ec2credential'] } },
    })
    const token = reply.headers.get('x-subject-token') ?? ''
    const own = new IdentityClient(http, token)
    expect(await own.list('/v3/auth/projects', 'projects')).toMatchObject([{ id: project }])
  })

  test('a request whose client left out the port', async () => {
    const { host, ...rest } = version2()
    const without = await signed({ ...rest, host: host.split(':')[0] })
    expect((await ask({ ...without, host })).status).toBe(200)
  })

  test.each([
    ['another secret', () => signed(version4(), 'x')],
    ['another path', async () => ({ ...(await signed(version4())), path: '/other' })],
    ['another body', async () => ({ ...(await signed(version4())), body_hash: 'x' })],
    ['an unknown key', async () => ({ ...(await signed(version4())), access: 'x' })],
    ['version 1', () => signed(version2({ SignatureVersion: '1' }))],
    ['an old version 4', () => signed(version4(basic(Date.now() - 1_000_000)))],
    ['an old version 2', () => signed(version2({ Timestamp: '2020-01-01T00:00:00Z' }))],
    ['no time', () => signed(version2({ Timestamp: 'now' }))],
  ])('are refused with %s', async (_name, credentials) => {
    const { status, headers } = await ask(await credentials())
    expect([status, headers.get('x-subject-token')]).toEqual([401, null])
  })

  test('services alone, and only while the key and its user exist', async () => {
    const credentials = await signed(version4())
    await demo.expect(403, 'POST', '/v3/ec2tokens', { credentials })
    await admin.expect(200, 'PATCH', `/v3/users/${user}`, { user: { enabled: false } })
    expect((await ask(credentials)).status).toBe(401)
    await admin.expect(200, 'PATCH', `/v3/users/${user}`, { user: { enabled: true } })
    expect((await ask(credentials)).status).toBe(200)
    // Rights that were lent with a trust are not all of the user's.
    const blob = JSON.stringify({ ...keys, access: 'lent', trust_id: 'x' })
    const credential = { user_id: user, project_id: project, type: 'ec2', blob }
    await admin.create('credentials', credential as unknown as Shown)
    expect((await ask({ ...credentials, access: 'lent' })).status).toBe(401)
  })
})

describe.skipIf(why !== undefined)('a service of S3 learns the signer', () => {
  const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text)
  const s3 = (text: string, signature: string) => {
    const token = Buffer.from(text).toString('base64url')
    return admin.send('POST', '/v3/s3tokens', {
      credentials: { access: keys.access, token, signature },
    })
  }
  const version1 = (text: string) => createHmac('sha1', keys.secret).update(text).digest('base64')
  const later = (text: string, service: string) => {
    const scope = ['20260101', 'region', service, 'aws4_request']
    const key = scope.reduce(
      (by: string | Buffer, part) => hmac(by, part).digest(),
      `AWS4${keys.secret}`,
    )
    const whole = `AWS4-HMAC-SHA256\n20260101T000000Z\n${scope.join('/')}\n${text}`
    return [whole, hmac(key, whole).digest('hex')] as const
  }

  test('a text, in the versions of old and in version 4', async () => {
    const text = 'GET\n\n\nThu, 01 Jan 2026 00:00:00 GMT\n/bucket/object'
    const first = await s3(text, version1(text))
    expect(first).toMatchObject({ status: 200, body: { token: { user: { id: user } } } })
    expect(first.headers.get('x-subject-token')).toBeNull()
    expect((await s3(...later('digest', 's3'))).status).toBe(200)
    expect((await s3(...later('digest', 'ec2'))).status).toBe(401)
    expect((await s3(`${text}.`, version1(text))).status).toBe(401)
    expect((await s3('AWS4', version1('AWS4'))).status).toBe(401)
  })
})
