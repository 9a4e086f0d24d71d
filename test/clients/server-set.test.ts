import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { type Listening, listen } from '#gateway/listen.ts'
import { type BootWorld, bootWorld } from '../env/boot-world.ts'

const OPENSTACK = '/usr/bin/openstack'
const RUN_LIMIT_MS = 60_000

let world: BootWorld
let listening: Listening
let root: string
const password = randomBytes(12).toString('base64url')

beforeAll(async () => {
  world = await bootWorld('server_set')
  const { gateway } = world.api
  await bootstrapIdentity(gateway.db, { adminPassword: password, demoPassword: password })
  listening = await listen(gateway)
  root = `http://127.0.0.1:${listening.port}`
})

afterAll(async () => {
  await listening?.[Symbol.asyncDispose]()
  await world?.[Symbol.asyncDispose]()
})

async function openstack(...command: readonly string[]): Promise<string> {
  const env = {
    PATH: '/usr/bin:/bin',
    HOME: '/nonexistent',
    OS_AUTH_URL: root,
    OS_USERNAME: 'demo',
    OS_PASSWORD: password,
    OS_PROJECT_NAME: 'demo',
    OS_USER_DOMAIN_NAME: 'Default',
    OS_PROJECT_DOMAIN_NAME: 'Default',
    OS_IDENTITY_API_VERSION: '3',
    OS_COMPUTE_API_VERSION: '2.90',
  }
  const { stdout } = await promisify(execFile)(OPENSTACK, command, { env, timeout: RUN_LIMIT_MS })
  return stdout
}

async function show(name: string): Promise<Readonly<Record<string, unknown>>> {
  const text = await openstack('server', 'show', name, '-f', 'json')
  return JSON.parse(text) as Readonly<Record<string, unknown>>
}

describe.skipIf(!existsSync(OPENSTACK))('the openstack command', () => {
  test('renames, describes, labels and tags a server, and takes it back', async () => {
    const what = ['--image', 'tiny', '--flavor', 'm1.tiny', '--network', 'private']
    await openstack('server', 'create', '--wait', ...what, 'first')

    const labels = ['--property', 'role=web', '--property', 'tier=1', '--tag', 'a', '--tag', 'b']
    await openstack(
      'server',
      'set',
      '--name',
      'second',
      '--description',
      'ours',
      ...labels,
      'first',
    )

    expect(await show('second')).toMatchObject({
      name: 'second',
      description: 'ours',
      properties: { role: 'web', tier: '1' },
      tags: ['a', 'b'],
    })

    const gone = ['--property', 'tier', '--tag', 'a', '--description']
    await openstack('server', 'unset', ...gone, 'second')

    expect(await show('second')).toMatchObject({ properties: { role: 'web' }, tags: ['b'] })
  })
})
