import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { startBusCluster } from '#test/env/bus-cluster.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { TestGalera } from '#test/env/galera.ts'
import { startS3 } from '#test/env/s3/start-s3.ts'
import { BACKUP_LINES, BUS, BUS_LEAF, DATABASES, ONE_MACHINE_LINES } from './outside-lines.ts'
import { pageScript, type Step } from './page-script.ts'
import { Machine, Reader } from './reader.ts'

// Goal: a deployment uses a Galera cluster, a NATS cluster and an S3 that exist, by the commands of the pages as they stand.

const PAGE_MS = 400_000
const MOVED_MS = 60_000
const SIMULATED = '--driver fake --cells 1 --hosts 1'

const owned = new AsyncDisposableStack()
afterAll(() => owned.disposeAsync(), PAGE_MS)

let machine: Machine
let reader: Reader
let directory: string

/** Starts servers that trust the keys that the page has made. */
async function startBus(): Promise<void> {
  cpSync(join(machine.folder, 'bus-keys'), join(directory, 'nats-1'), { recursive: true })
  const bus = owned.use(await startBusCluster(directory))
  reader.learn(BUS, bus.url)
  reader.learn(BUS_LEAF, bus.leafUrl)
}

/** Images whose contents are not in the S3 yet. */
const imagesLeft = () => readdirSync(join(machine.checkout.home, 'images', 'contents'))

const exported = (command: string) => [BACKUP_LINES.endpoint, BACKUP_LINES.key, command].join('; ')

const STEPS: Readonly<Record<string, Readonly<Record<string, Step>>>> = {
  'docs/how-to/one-machine.md': {
    [ONE_MACHINE_LINES.keys]: { after: startBus },
    [ONE_MACHINE_LINES.up]: {
      typed: `${ONE_MACHINE_LINES.up} ${SIMULATED}`,
      shows: /Server first is ACTIVE/,
    },
    [ONE_MACHINE_LINES.images]: {
      shows: /is up/,
      after: () => waitFor('images in the S3', () => imagesLeft().length === 0, MOVED_MS),
    },
  },
  'docs/how-to/backup.md': {
    [BACKUP_LINES.run]: {
      typed: exported(BACKUP_LINES.run),
      shows: /and was verified/,
      gives: { NAME: /\d{4}-\d\d-\d\dT\d{6}Z/ },
    },
    [BACKUP_LINES.fetch]: {
      before: async () => {
        // The machine that made it is lost.
        const made = join(directory, 'backups')
        for (const name of readdirSync(made)) rmSync(join(made, name), { recursive: true })
      },
      typed: exported(BACKUP_LINES.fetch),
      shows: /verified/,
    },
    [BACKUP_LINES.restore]: { shows: /The database is as in the backup/ },
  },
}

beforeAll(async () => {
  if (!isFullRun) return
  directory = mkdtempSync(join(tmpdir(), 'weir-outside-'))
  owned.defer(() => rmSync(directory, { recursive: true, force: true }))
  machine = owned.use(new Machine())
  const [galera, s3] = [owned.use(await TestGalera.start()), owned.use(await startS3())]
  const url = galera.url('')
  const { endpoint, bucket, accessKey, secretKey } = s3.settings
  const file = (name: string, text: string) => {
    writeFileSync(join(directory, name), text, { mode: 0o600 })
    return join(directory, name)
  }
  mkdirSync(join(directory, 'backups'), { mode: 0o700 })
  const key = { access: file('access', accessKey), secret: file('secret', secretKey) }
  const ownKey = join(machine.checkout.home, 'secrets', 'gateway.key')
  reader = new Reader(
    { machine },
    {
      [DATABASES]: url.replace(`:${galera.cluster.password}@`, '@'),
      '…': galera.cluster.password,
      'https://s3.example.org': endpoint,
      's3://weir-images': `s3://${bucket}/images`,
      's3://backups/weir': `s3://${bucket}/backups`,
      '/etc/weir/s3-access': key.access,
      '/etc/weir/s3-secret': key.secret,
      '/etc/weir/backup-access': key.access,
      '/etc/weir/backup-secret': key.secret,
      '/var/backups/weir': join(directory, 'backups'),
      '--key-file gateway.key': `--key-file ${ownKey}`,
      'mysql://root:PASSWORD@HOST:3306/weir': galera.url('restored'),
      FILE: ownKey,
    },
  )
}, PAGE_MS)

for (const [page, steps] of Object.entries(STEPS))
  test.skipIf(!isFullRun)(
    `${page}: what it says of services elsewhere can be typed`,
    async () => {
      const all = new Map(pageScript(page, steps).steps.map((step) => [step.line, step]))
      // In the order of a deployment that begins with them.
      await reader.type({ page, steps: Object.keys(steps).map((line) => all.get(line)!) })
    },
    PAGE_MS,
  )
