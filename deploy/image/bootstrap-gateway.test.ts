import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { configFromEnv } from '#gateway/config.ts'
import { createGateway } from '#gateway/context.ts'
import { listen } from '#gateway/listen.ts'
import { freshDatabase } from '#test/env/fresh-database.ts'
import { signIn } from '../api/session.ts'
import { writeKeys } from '../keys/write-keys.ts'
import { startNats, stopNats } from '../nats.ts'
import { bootstrapGateway } from './bootstrap-gateway.ts'
import { ensureGatewayCredentials } from './gateway-credentials.ts'

// Goal: with the keys that a command creates, an empty database and an empty bus become those of a gateway.

const directory = mkdtempSync(join(tmpdir(), 'weir-bootstrap-'))
const path = (name: string) => join(directory, name)
let settings: Readonly<Record<string, string>>

beforeAll(async () => {
  await writeKeys(directory, 'elsewhere')
  const nats = await startNats(directory, 'with-parent')
  writeFileSync(path('admin.password'), 'a long password')
  settings = {
    GATEWAY_PROCESS: 'gateway-1',
    GATEWAY_PORT: '0',
    GATEWAY_LOG_LEVEL: 'error',
    GATEWAY_DATABASE_URL: await freshDatabase('bootstrap'),
    GATEWAY_SECRET_KEY_FILE: path('gateway.key'),
    GATEWAY_NATS_URL: nats.url,
    GATEWAY_NATS_CREDENTIALS_FILE: path('gateway.creds'),
    GATEWAY_NATS_ACCOUNT_SEED_FILE: path('gateway-account.nk'),
    GATEWAY_NATS_OPERATOR_SEED_FILE: path('operator.nk'),
    GATEWAY_NATS_SYSTEM_CREDENTIALS_FILE: path('gateway-operator.creds'),
    GATEWAY_NATS_SYSTEM_SEED_FILE: path('system-account.nk'),
    GATEWAY_IMAGE_DIRECTORY: path('images'),
  }
})

afterAll(async () => {
  await stopNats(directory)
  rmSync(directory, { recursive: true })
})

test('bootstrapGateway() makes all that a gateway needs, however often it is run', async () => {
  const env = { ...settings, WEIR_ADMIN_PASSWORD_FILE: path('admin.password') }
  await bootstrapGateway(env)
  await bootstrapGateway({ ...env, WEIR_ADMIN_PASSWORD_FILE: path('gateway.key') })
  await ensureGatewayCredentials(settings)

  await using gateway = await createGateway(configFromEnv(settings))
  await using listening = await listen(gateway)
  const endpoint = `http://127.0.0.1:${listening.port}`
  const readiness = async () => (await fetch(`${endpoint}/readyz`)).status
  await expect.poll(readiness).toBe(200)
  const session = await signIn(endpoint, {
    userName: 'admin',
    password: 'a long password',
    projectName: 'admin',
  })
  expect(session.token).not.toBe('')
})

test('bootstrapGateway() names the settings without which it cannot make accounts', async () => {
  const { GATEWAY_NATS_SYSTEM_SEED_FILE: _, ...rest } = settings

  await expect(bootstrapGateway({ ...rest, WEIR_ADMIN_PASSWORD: 'x' })).rejects.toThrow(
    'GATEWAY_NATS_SYSTEM_SEED are needed',
  )
})
