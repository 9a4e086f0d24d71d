import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProxy } from '#deploy/haproxy/haproxy.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { stopProcess } from '#deploy/process/stop-process.ts'
import { type BusCluster, startBusCluster } from './bus-cluster.ts'
import { type Cloud, startCloud } from './cloud.ts'
import { TestGalera } from './galera.ts'
import { S3_KINDS, s3Env, startS3, type TestS3 } from './s3/start-s3.ts'
import { testServices } from './services.ts'

/**
 * A cloud as on three machines: a Galera cluster of three, a bus of three servers, an S3, two gateways behind an HAProxy,
 * and two cells of two processes each. Every part can be killed, frozen and started again.
 */
export interface ControlPlane extends AsyncDisposable {
  readonly galera: TestGalera
  readonly bus: BusCluster
  readonly cloud: Cloud
  readonly s3: TestS3
  /** Where users reach the gateways. */
  readonly proxy: string
  /** What the proxy says of gateways that went or came, and of requests that failed or were repeated. */
  proxyLog(): string
}

export async function startControlPlane(): Promise<ControlPlane> {
  await using owned = new AsyncDisposableStack()
  const directory = mkdtempSync(join(tmpdir(), 'weir-control-'))
  owned.defer(() => rmSync(directory, { recursive: true, force: true }))
  const services = await testServices()
  const galera = owned.use(await TestGalera.start())
  const bus = owned.use(await startBusCluster(directory))
  // A real one where all tests run.
  const s3 = owned.use(await startS3('', S3_KINDS.includes('ceph') ? 'ceph' : 's3rver'))
  const cloud = owned.use(
    await startCloud({
      gateways: 2,
      cells: 2,
      processesPerCell: 2,
      outside: ['gateway', 'cell'],
      driver: { vcpus: '1000', memory_mb: '1000000', disk_gb: '100000' },
      gateway: s3Env(s3),
      services: {
        ...services,
        databaseRootUrl: galera.url(''),
        natsUrl: bus.url,
        natsLeafUrl: bus.leafUrl,
        natsKeys: bus.keys,
      },
    }),
  )
  const port = await freePort()
  const gateways = cloud.endpoints.map((url) => new URL(url).host)
  const options = { host: '127.0.0.1', port, gateways }
  const proxyHome = join(directory, 'haproxy')
  const identity = await startProxy(proxyHome, options, 'with-parent')
  owned.defer(() => stopProcess(identity))
  const parts = owned.move()
  return {
    galera,
    bus,
    cloud,
    s3,
    proxy: `http://127.0.0.1:${port}`,
    proxyLog: () => readFileSync(join(proxyHome, 'haproxy.log'), 'utf8'),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}
