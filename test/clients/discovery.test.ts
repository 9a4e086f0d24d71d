import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bootstrapIdentity } from '#gateway/app/identity/bootstrap.ts'
import { type Listening, listen } from '#gateway/listen.ts'
import { MAX, MIN } from '#openapi/microversions.ts'
import { type ComputeApi, computeApi } from '../env/compute-api.ts'

const PYTHON = '/usr/bin/python3'
const KEYSTONEAUTH = '/usr/lib/python3/dist-packages/keystoneauth1'
const SCRIPT = new URL('discover.py', import.meta.url).pathname
const RUN_LIMIT_MS = 60_000

let api: ComputeApi
let listening: Listening
let root: string
const password = randomBytes(12).toString('base64url')

beforeAll(async () => {
  api = await computeApi('discovery')
  const { gateway } = api
  await bootstrapIdentity(gateway.db, { adminPassword: password, demoPassword: password })
  listening = await listen(gateway)
  root = `http://127.0.0.1:${listening.port}`
})

afterAll(async () => {
  await listening?.[Symbol.asyncDispose]()
  await api?.[Symbol.asyncDispose]()
})

async function discover(authPath: string): Promise<unknown> {
  const env = {
    PATH: '/usr/bin:/bin',
    OS_AUTH_URL: root + authPath,
    OS_USERNAME: 'demo',
    OS_PASSWORD: password,
    OS_PROJECT_NAME: 'demo',
    COMPUTE_ROOT: `${root}/compute`,
  }
  const { stdout } = await promisify(execFile)(PYTHON, [SCRIPT], { env, timeout: RUN_LIMIT_MS })
  return JSON.parse(stdout) as unknown
}

const numbers = (version: string) => version.split('.').map(Number)

describe.skipIf(!existsSync(KEYSTONEAUTH))('keystoneauth', () => {
  test.each(['', '/identity', '/v3'])(
    'finds the compute service and its range of microversions from the auth URL …%s',
    async (path) => {
      const service = {
        url: `${root}/compute/v2.1/`,
        version: [2, 1],
        min: numbers(MIN),
        max: numbers(MAX),
      }

      expect(await discover(path)).toEqual({
        any: service,
        major: service,
        exact: service,
        newer: null,
        listed: [
          { version: [2, 0], url: `${root}/compute/v2/`, status: 'SUPPORTED' },
          { version: [2, 1], url: service.url, status: 'CURRENT' },
        ],
        used: `compute ${MAX}`,
      })
    },
  )
})
