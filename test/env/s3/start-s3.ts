import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from 's3rver'
import { S3Client } from '#gateway/s3/s3-client.ts'
import type { S3Settings } from '#gateway/s3/s3-settings.ts'
import { isFullRun } from '../full-run.ts'
import { isCephS3Here, startCeph } from './ceph.ts'
import { S3Front } from './s3-front.ts'

/** An S3 with an empty bucket of a test's own. */
export interface TestS3 extends AsyncDisposable {
  readonly settings: S3Settings
  /** Where its requests can be made to fail. */
  readonly front: S3Front
}

interface Server extends AsyncDisposable {
  readonly endpoint: string
  readonly key: { readonly accessKey: string; readonly secretKey: string }
}

const REGION = 'us-east-1'

/** The S3 servers of the tests: a small one, Debian's Ceph, and the one that `WEIR_TEST_S3_ENDPOINT` names, with its keys. */
export type S3Kind = 's3rver' | 'ceph' | 'given'
export const S3_KINDS: readonly S3Kind[] = [
  's3rver',
  ...(isFullRun && isCephS3Here() ? (['ceph'] as const) : []),
  ...(process.env['WEIR_TEST_S3_ENDPOINT'] === undefined ? [] : (['given'] as const)),
]
const START = { s3rver: startS3rver, ceph: startCeph, given: async () => given() } as const

/** `prefix` as in the settings. */
export async function startS3(prefix = '', kind: S3Kind = 's3rver'): Promise<TestS3> {
  await using owned = new AsyncDisposableStack()
  const { endpoint, key } = owned.use(await START[kind]())
  const front = owned.use(await S3Front.open(endpoint))
  const bucket = `weir-${randomUUID()}`
  const settings = { endpoint: front.url, region: REGION, bucket, prefix, ...key, isDirect: true }
  await using client = new S3Client(settings)
  await client.ask({ operation: 'put', method: 'PUT' })
  const parts = owned.move()
  return { settings, front, [Symbol.asyncDispose]: () => parts.disposeAsync() }
}

async function startS3rver(): Promise<Server> {
  const directory = mkdtempSync(join(tmpdir(), 'weir-s3-'))
  const server = new S3rver({ address: '127.0.0.1', port: 0, silent: true, directory })
  const { port } = await server.run()
  return {
    endpoint: `http://127.0.0.1:${port}`,
    key: { accessKey: 'S3RVER', secretKey: 'S3RVER' },
    async [Symbol.asyncDispose]() {
      await server.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function given(): Server {
  const setting = (name: string) => process.env[`WEIR_TEST_S3_${name}`] ?? ''
  return {
    endpoint: setting('ENDPOINT'),
    key: { accessKey: setting('ACCESS_KEY'), secretKey: setting('SECRET_KEY') },
    async [Symbol.asyncDispose]() {},
  }
}

/** Settings of a gateway that keeps its images there. */
export function s3Env({ settings }: TestS3): Readonly<Record<string, string>> {
  return {
    GATEWAY_IMAGES: `s3://${settings.bucket}/${settings.prefix}`,
    GATEWAY_IMAGES_S3_ENDPOINT: settings.endpoint,
    GATEWAY_IMAGES_S3_ACCESS_KEY: settings.accessKey,
    GATEWAY_IMAGES_S3_SECRET_KEY: settings.secretKey,
  }
}
