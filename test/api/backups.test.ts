import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Database } from '#common/db/database.ts'
import { withDatabase } from '#common/db/database-url.ts'
import { findSet, IMAGES, MANIFEST } from '#deploy/upkeep/backup-set.ts'
import { removeExpired } from '#deploy/upkeep/keep-backup-sets.ts'
import { lockBackups } from '#deploy/upkeep/lock-backups.ts'
import { copyOffSite, fetchFromOffSite, removeExpiredOffSite } from '#deploy/upkeep/off-site.ts'
import { restoreBySettings } from '#deploy/upkeep/restore-by-settings.ts'
import { restoreElsewhere } from '#deploy/upkeep/restore-elsewhere.ts'
import { restoreImages } from '#deploy/upkeep/restore-images.ts'
import { backupKey, PART_BYTES } from '#deploy/upkeep/sealed-parts.ts'
import { sourceOfSettings } from '#deploy/upkeep/settings-source.ts'
import { verifySet } from '#deploy/upkeep/verify-backup-set.ts'
import { type BackupSource, writeBackupSet } from '#deploy/upkeep/write-backup-set.ts'
import { DirectoryStore } from '#gateway/app/images/store/directory-store.ts'
import { countContent } from '#gateway/db/image-contents.ts'
import { imageContents } from '#gateway/db/schema/image.ts'
import { S3Client } from '#gateway/s3/s3-client.ts'
import { listObjects } from '#gateway/s3/s3-list.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { startS3 } from '#test/env/s3/start-s3.ts'
import { testServices } from '#test/env/services.ts'

const KEY = 'ab'.repeat(32)
/** More than one encrypted part. */
const LARGE = randomBytes(PART_BYTES + 1_000)
const SMALL = Buffer.from('a small image')
const FIRST = new Date('2026-11-23T02:00:00Z')
const SECOND = new Date('2026-11-24T02:00:00Z')
const ONE_DAY = { daily: 1, weekly: 0, monthly: 0 }

let root: string
let url: string
let store: DirectoryStore
let source: BackupSource

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'weir-backups-'))
  url = await migratedDatabase('backups', 'gateway')
  store = await DirectoryStore.open(join(root, 'store'))
  const keyFile = join(root, 'gateway.key')
  writeFileSync(keyFile, `${KEY}\n`)
  const cellUrl = await migratedDatabase('backups_cell', 'cells')
  const cell = { kind: 'cell', id: 'c', name: 'north' } as const
  source = {
    databases: [
      { of: { kind: 'gateway' }, url, keyFile },
      { of: cell, url: cellUrl, keyFile },
    ],
    store,
  }
  for (const content of [LARGE, SMALL]) await addImage(content)
})

afterAll(() => rmSync(root, { recursive: true, force: true }))

function digestOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

async function addImage(content: Buffer): Promise<void> {
  const sha256 = digestOf(content)
  await using incoming = await store.receive()
  await incoming.write(content)
  await incoming.flush(sha256)
  await incoming.keep(sha256)
  await using db = new Database({ url, connectionsMax: 1 })
  await db.transaction((tx) => countContent(tx, sha256))
}

function newDirectory(): string {
  return mkdtempSync(join(root, 'sets-'))
}

test('a backup has every database and image, and any damage to it is found', async () => {
  const directory = newDirectory()

  const set = await writeBackupSet(directory, source, FIRST)

  expect(set.name).toBe('2026-11-23T020000Z')
  expect(set.manifest.images.toSorted()).toEqual([LARGE, SMALL].map(digestOf).toSorted())
  expect(set.manifest.databases.map(({ name }) => name)).toEqual([
    'gateway.backup',
    'cell-north.backup',
  ])
  const found = findSet(directory)
  await expect(verifySet(directory, found)).resolves.toMatchObject({ images: 2 })
  await expect(writeBackupSet(directory, source, FIRST)).rejects.toThrow('nothing is overwritten')
  const image = join(directory, IMAGES, digestOf(SMALL))
  const file = join(directory, set.name, 'gateway.backup')
  const whole = readFileSync(file)
  writeFileSync(file, whole.subarray(0, -20))
  await expect(verifySet(directory, found)).rejects.toThrow('damaged')
  writeFileSync(file, whole)
  appendFileSync(image, 'x')
  await expect(verifySet(directory, found)).rejects.toThrow(`${image} is damaged`)
  rmSync(image)
  await expect(verifySet(directory, found)).rejects.toThrow('is missing')
})

test('a backup that fails leaves none, and one that was killed is removed by the next', async () => {
  const directory = newDirectory()
  const killed = join(directory, '2026-11-22T020000Z.part')
  mkdirSync(killed)
  const broken = { ...source.databases[1]!, url: withDatabase(url, 'no_such_database') }
  const databases = [source.databases[0]!, broken]

  await expect(writeBackupSet(directory, { ...source, databases }, FIRST)).rejects.toThrow()

  expect(readdirSync(directory)).toEqual([IMAGES])
  using lock = lockBackups(directory)
  expect(lock).toBeDefined()
  expect(() => lockBackups(directory)).toThrow(`(pid ${process.pid})`)
})

test('a content that the store has lost fails the backup, and one that was deleted does not', async () => {
  const content = randomBytes(100)
  await addImage(content)
  await store.remove(digestOf(content))

  await expect(writeBackupSet(newDirectory(), source, FIRST)).rejects.toThrow('cannot be read')

  await using db = new Database({ url, connectionsMax: 1 })
  await db.orm.delete(imageContents).where(eq(imageContents.sha256, digestOf(content)))
  await expect(writeBackupSet(newDirectory(), source, FIRST)).resolves.toBeDefined()
})

test('expired backups go, with the images that no other has', async () => {
  const directory = newDirectory()
  const content = randomBytes(100)
  await addImage(content)
  await writeBackupSet(directory, source, FIRST)
  await using db = new Database({ url, connectionsMax: 1 })
  await db.orm.delete(imageContents).where(eq(imageContents.sha256, digestOf(content)))
  const second = await writeBackupSet(directory, source, SECOND)

  expect(removeExpired(directory, ONE_DAY)).toEqual(['2026-11-23T020000Z'])

  expect(readdirSync(directory).toSorted()).toEqual([second.name, IMAGES].toSorted())
  expect(existsSync(join(directory, IMAGES, digestOf(content)))).toBe(false)
  await expect(verifySet(directory, second)).resolves.toMatchObject({ images: 2 })
})

test('a backup in a bucket is encrypted, and is restored on a machine that has nothing but the key', async () => {
  await using s3 = await startS3('weir/')
  await using client = new S3Client(s3.settings)
  const off = { client, key: backupKey(KEY) }
  const directory = newDirectory()
  const first = await writeBackupSet(directory, source, FIRST)
  await copyOffSite(off, directory, first)
  const second = await writeBackupSet(directory, source, SECOND)
  await copyOffSite(off, directory, second)
  const elsewhere = newDirectory()

  const wrong = { client, key: backupKey('cd'.repeat(32)) }
  await expect(fetchFromOffSite(wrong, elsewhere, undefined)).rejects.toThrow('another key')
  const set = await fetchFromOffSite(off, elsewhere, first.name)

  expect(set).toEqual(first)
  const restored = await DirectoryStore.open(join(elsewhere, 'store'))
  expect(await restoreImages(join(elsewhere, IMAGES), set.manifest.images, restored)).toBe(2)
  expect(await restoreImages(join(elsewhere, IMAGES), set.manifest.images, restored)).toBe(0)
  const { stream } = await restored.read(digestOf(LARGE))
  const copy = Buffer.from(await new Response(stream).arrayBuffer())
  expect(digestOf(copy)).toBe(digestOf(LARGE))
  expect(await removeExpiredOffSite(off, ONE_DAY)).toEqual([first.name])
  const names: string[] = []
  for await (const { key } of listObjects(client, 'weir/')) names.push(key)
  expect(names.toSorted()).toEqual(
    [
      ...set.manifest.images.map((sha256) => `weir/images/${sha256}`),
      ...['gateway.backup', 'cell-north.backup', MANIFEST].map(
        (name) => `weir/sets/${second.name}/${name}`,
      ),
    ].toSorted(),
  )
})

test('a part that is left out of an object in a bucket is missed', async () => {
  await using s3 = await startS3()
  await using client = new S3Client(s3.settings)
  const off = { client, key: backupKey(KEY) }
  const directory = newDirectory()
  const set = await writeBackupSet(directory, source, FIRST)
  await copyOffSite(off, directory, set)
  const key = `images/${digestOf(LARGE)}`
  const { body } = await client.open({ operation: 'read', method: 'GET', key }, AbortSignal.any([]))
  const whole = Buffer.from(await body.arrayBuffer())
  expect(whole.includes(LARGE.subarray(0, 64))).toBe(false)
  const cut = whole.subarray(0, whole.length - (LARGE.length - PART_BYTES) - 28)
  await client.ask({ operation: 'put', method: 'PUT', key, body: cut })

  await expect(fetchFromOffSite(off, newDirectory(), undefined)).rejects.toThrow('damaged')
})

test('a file is restored into another database, which must be empty', async () => {
  const directory = newDirectory()
  const set = await writeBackupSet(directory, source, FIRST)
  const file = join(directory, set.name, 'gateway.backup')
  const { databaseRootUrl } = await testServices()
  const to = withDatabase(databaseRootUrl, `restored_${randomBytes(4).toString('hex')}`)
  const keyFile = join(root, 'gateway.key')

  await restoreElsewhere(file, { url: to, keyFile, mayReplace: false })

  await using db = new Database({ url: to, connectionsMax: 1 })
  const rows = await db.orm.select().from(imageContents)
  expect(rows.map(({ sha256 }) => sha256).toSorted()).toEqual(set.manifest.images.toSorted())
  const again = { url: to, keyFile, mayReplace: false }
  await expect(restoreElsewhere(file, again)).rejects.toThrow('has tables')
  await expect(restoreElsewhere(file, { ...again, mayReplace: true })).resolves.toBeUndefined()
  const otherKey = join(root, 'other.key')
  writeFileSync(otherKey, 'cd'.repeat(32))
  await expect(restoreElsewhere(file, { ...again, keyFile: otherKey })).rejects.toThrow('not open')
})

test('a backup is restored into the databases and the image store that settings name', async () => {
  const directory = newDirectory()
  const set = await writeBackupSet(directory, source, FIRST)
  const path = join(directory, set.name)
  const { databaseRootUrl } = await testServices()
  const keyFile = join(root, 'gateway.key')
  const freshUrl = () => withDatabase(databaseRootUrl, `restored_${randomBytes(4).toString('hex')}`)
  const gatewayUrl = freshUrl()
  const gatewayEnv = join(root, 'restored-gateway.env')
  writeFileSync(
    gatewayEnv,
    `GATEWAY_DATABASE_URL=${gatewayUrl}\nGATEWAY_SECRET_KEY_FILE=${keyFile}\nGATEWAY_IMAGE_DIRECTORY=${join(root, 'restored-images')}\n`,
  )
  const cellUrl = freshUrl()
  const cellEnv = (id: string) => {
    const file = join(root, `restored-cell-${id}.env`)
    const of = `CELL_ID=${id}\nCELL_NAME=north\nCELL_SECRET_KEY_FILE=${keyFile}\n`
    writeFileSync(file, `CELL_DATABASE_URL=${cellUrl}\n${of}`)
    return file
  }
  const said: string[] = []
  const restore = (envFiles: readonly string[], mayReplace: boolean) =>
    restoreBySettings(path, { envFiles, mayReplace }, (line) => said.push(line))

  await expect(restore([gatewayEnv, cellEnv('other')], true)).rejects.toThrow(
    /has no backup of cell north \(other\).+It has: the gateways, cell north \(c\)/,
  )
  await restore([gatewayEnv], false)
  expect(said).toContain('Restored 2 images that were missing.')
  expect(said).toContain('Not restored: cell north (c), whose settings no --env-file names.')
  await expect(restore([cellEnv('c'), gatewayEnv], false)).rejects.toThrow('has tables')
  await using cellDb = new Database({ url: cellUrl, connectionsMax: 1 })
  expect((await cellDb.orm.execute('show tables'))[0]).toEqual([])
  await using db = new Database({ url: gatewayUrl, connectionsMax: 1 })
  const rows = await db.orm.select().from(imageContents)
  expect(rows.map(({ sha256 }) => sha256).toSorted()).toEqual(set.manifest.images.toSorted())
})

test('settings of programs name what is backed up', async () => {
  const gatewayEnv = join(root, 'gateway.env')
  const cellEnv = join(root, 'cell.env')
  const [gateway, cell] = source.databases
  const ofGateway = [
    `GATEWAY_DATABASE_URL=${url}`,
    `GATEWAY_SECRET_KEY_FILE=${gateway!.keyFile}`,
    `GATEWAY_IMAGE_DIRECTORY=${join(root, 'store')}`,
    'GATEWAY_LOG_LEVEL=info',
  ]
  writeFileSync(gatewayEnv, ofGateway.join('\n'))
  const ofCell = [`CELL_DATABASE_URL=${cell!.url}`, `CELL_SECRET_KEY_FILE=${cell!.keyFile}`]
  writeFileSync(cellEnv, [...ofCell, 'CELL_ID=c', 'CELL_NAME=north'].join('\n'))

  const named = await sourceOfSettings([gatewayEnv, cellEnv], true)

  expect(named.databases).toEqual(source.databases)
  const set = await writeBackupSet(newDirectory(), named, FIRST)
  expect(set.manifest.images).toHaveLength(2)
  writeFileSync(cellEnv, [ofCell[0], 'CELL_ID=c', 'CELL_NAME=north'].join('\n'))
  await expect(sourceOfSettings([cellEnv], true)).rejects.toThrow('CELL_SECRET_KEY_FILE')
})

test('./weir backup run copies to a bucket what settings name, and fetch gets it back without a deployment', async () => {
  await using s3 = await startS3('weir/')
  const { endpoint, bucket, accessKey, secretKey } = s3.settings
  const envFile = join(root, 'command.env')
  const ofGateway = [
    `GATEWAY_DATABASE_URL=${url}`,
    `GATEWAY_SECRET_KEY_FILE=${join(root, 'gateway.key')}`,
    `GATEWAY_IMAGE_DIRECTORY=${join(root, 'store')}`,
  ]
  writeFileSync(envFile, ofGateway.join('\n'))
  const env = {
    PATH: process.env['PATH'],
    WEIR_HOME: join(root, 'no-deployment'),
    WEIR_BACKUP_S3_ENDPOINT: endpoint,
    WEIR_BACKUP_S3_ACCESS_KEY: accessKey,
    WEIR_BACKUP_S3_SECRET_KEY: secretKey,
  }
  const weir = async (...args: readonly string[]) => {
    const command = ['deploy/cli/main.ts', 'backup', ...args]
    return (await promisify(execFile)(process.execPath, command, { env })).stdout
  }
  const location = `s3://${bucket}/weir`
  const directory = newDirectory()
  const elsewhere = newDirectory()

  const made = await weir('run', '--directory', directory, '--env-file', envFile, '--to', location)
  const key = ['--key-file', join(root, 'gateway.key')]
  const got = await weir('fetch', '--from', location, '--directory', elsewhere, ...key)

  expect(made).toContain('1 database and 2 images, and was verified')
  expect(made).toContain(`${location} has the backup.`)
  expect(got).toContain('holds the backup, and was verified.')
  expect(findSet(elsewhere)).toEqual(findSet(directory))
  const refused = weir('fetch', '--from', 'somewhere', '--directory', elsewhere, ...key)
  await expect(refused).rejects.toThrow('is no bucket. Name one: s3://BUCKET/PREFIX')
  const noKey = ['--directory', elsewhere, '--key-file', envFile]
  await expect(weir('fetch', '--from', location, ...noKey)).rejects.toThrow('is no key of gateways')
})
