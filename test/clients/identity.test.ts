import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { createAdaptorServer } from '@hono/node-server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { type IdentityWorld, identityWorld } from '../api/identity-world.ts'

const OPENSTACK = '/usr/bin/openstack'
const RUN_LIMIT_MS = 60_000

let world: IdentityWorld
let server: Server
let root: string

beforeAll(async () => {
  world = await identityWorld()
  const { app, gateway } = await world.addGateway()
  const { admin, demo } = world.passwords
  await bootstrapIdentity(gateway.db, { adminPassword: admin, demoPassword: demo })
  server = createAdaptorServer({ fetch: app.fetch }) as Server
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  root = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await world?.[Symbol.asyncDispose]()
})

async function openstack(authPath: string, ...command: readonly string[]): Promise<unknown> {
  const env = {
    PATH: '/usr/bin:/bin',
    HOME: '/nonexistent',
    OS_AUTH_URL: root + authPath,
    OS_USERNAME: 'admin',
    OS_PASSWORD: world.passwords.admin,
    OS_PROJECT_NAME: 'admin',
    OS_USER_DOMAIN_NAME: 'Default',
    OS_PROJECT_DOMAIN_NAME: 'Default',
    OS_IDENTITY_API_VERSION: '3',
  }
  const args = [...command, '-f', 'json']
  const { stdout } = await promisify(execFile)(OPENSTACK, args, { env, timeout: RUN_LIMIT_MS })
  return JSON.parse(stdout) as unknown
}

describe.skipIf(!existsSync(OPENSTACK))('the openstack command', () => {
  test.each(['', '/identity', '/identity/v3', '/v3'])(
    'gets a token from the auth URL …%s',
    async (path) => {
      expect(await openstack(path, 'token', 'issue')).toMatchObject({
        id: expect.stringMatching(/^[\w-]{43}$/) as string,
      })
    },
  )

  test('lists the catalog', async () => {
    const catalog = (await openstack('/identity', 'catalog', 'list')) as readonly { Type: string }[]

    expect(catalog.map(({ Type }) => Type)).toEqual([
      'identity',
      'compute',
      'image',
      'network',
      'federation',
      'placement',
      'block-storage',
      'volumev3',
    ])
  })

  test('finds a user by name', async () => {
    expect(await openstack('/identity', 'user', 'show', 'demo')).toMatchObject({ name: 'demo' })
  })
})
