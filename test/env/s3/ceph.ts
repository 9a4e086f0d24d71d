import { randomUUID } from 'node:crypto'
import { waitFor } from '#common/wait-for.ts'
import { isCephHere, startCluster } from '../ceph/cluster.ts'

const LIMIT_MS = 120_000
const STORE_BYTES = 2 ** 30
/** An OSD listens at four. */
const PORTS = 8

/** A Ceph with an S3, whose objects are in memory. */
export interface Ceph extends AsyncDisposable {
  readonly endpoint: string
  readonly key: { readonly accessKey: string; readonly secretKey: string }
}

/** True where Debian's Ceph is unpacked or installed, with the gateway that speaks S3. */
export function isCephS3Here(): boolean {
  return isCephHere('radosgw', 'radosgw-admin')
}

/** A cluster in memory, and the gateway that speaks S3. */
export async function startCeph(): Promise<Ceph> {
  const cluster = await startCluster({ store: 'memstore', storeBytes: STORE_BYTES, ports: PORTS })
  try {
    await cluster.daemon('ceph-osd', '-i', '0')
    const key = { accessKey: 'WEIR', secretKey: randomUUID() }
    const user = ['--uid=weir', '--display-name=weir']
    const keys = [`--access-key=${key.accessKey}`, `--secret-key=${key.secretKey}`]
    await cluster.tool('radosgw-admin', 'user', 'create', ...user, ...keys)
    await cluster.daemon('radosgw', '-n', 'client.admin')
    const endpoint = `http://127.0.0.1:${cluster.gatewayPort}`
    const answers = async () => (await fetch(endpoint)).ok
    await waitFor('radosgw to answer', () => answers().catch(() => false), LIMIT_MS)
    return { endpoint, key, [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose]() }
  } catch (error) {
    await cluster[Symbol.asyncDispose]()
    throw error
  }
}
