import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Env, EnvReader } from '#common/env.ts'
import { Failure } from '#common/errors.ts'
import { SECRET_KEY } from '#common/secrets.ts'
import type { ContentStore } from '#gateway/app/images/store/content-store.ts'
import { openStore } from '#gateway/app/images/store/open-store.ts'
import { S3Client } from '#gateway/s3/s3-client.ts'
import { isEndpoint, readS3 } from '#gateway/s3/s3-settings.ts'
import type { Layout } from '../deployment/layout.ts'
import type { DeploymentState } from '../deployment/state.ts'
import type { BackedUp, BackupSubject } from './backup-file.ts'
import type { OffSite } from './off-site.ts'
import { databaseOf } from './restore-deployment.ts'
import { backupKey } from './sealed-parts.ts'

const STORE_SETTING = /^GATEWAY_(?:IMAGE_DIRECTORY|IMAGES|IMAGES_S3_\w+)$/
/** 64 GiB, the largest size of images by default. */
const IMAGE_BYTES_MAX = 64 * 2 ** 30

/** Every database of the deployment. */
export function databasesOf(layout: Layout, state: DeploymentState): readonly BackedUp[] {
  const subjects: readonly BackupSubject[] = [
    ...(state.gateways.length > 0 ? [{ kind: 'gateway' } as const] : []),
    ...state.cells.map(({ id, name }) => ({ kind: 'cell', id, name }) as const),
  ]
  return subjects.map((of) => backedUp(layout, of))
}

/** The address of a database of the deployment, and the file with the key of its secrets. */
export function backedUp(layout: Layout, of: BackupSubject): BackedUp {
  const { database, keyFile } = databaseOf(layout, of)
  return { of, keyFile, url: readFileSync(join(layout.secrets, `${database}.url`), 'utf8').trim() }
}

/** Where the gateways of the deployment keep images; undefined where it has no gateways. */
export async function imageStoreOf(
  { images }: Layout,
  { gateways, settings = {} }: DeploymentState,
): Promise<ContentStore | undefined> {
  if (gateways.length === 0) return undefined
  return storeOf({ ...settings, GATEWAY_IMAGE_DIRECTORY: images })
}

/** The store that settings of a gateway name. */
export async function storeOf(env: Env): Promise<ContentStore> {
  const own = Object.entries(env).filter(([name]) => STORE_SETTING.test(name))
  const read = new EnvReader(Object.fromEntries(own), 'GATEWAY_')
  const imageS3 = readS3(read)
  const imageDirectory = read.text('IMAGE_DIRECTORY', imageS3 && '')
  read.finish()
  // Contents are read, and those that are restored had their size when they were uploaded.
  return openStore({ imageDirectory, imageS3, imageSizeMaxBytes: IMAGE_BYTES_MAX })
}

const LOCATION = 'BACKUP'

/** A bucket for backups, s3://BUCKET/PREFIX, with the settings WEIR_BACKUP_S3_* of the environment. Throws `invalid`. */
export function offSiteOf(location: string, environment: Env, keyFile: string): OffSite {
  const own = Object.entries(environment).filter(([name]) => name.startsWith('WEIR_BACKUP_'))
  const read = new EnvReader(
    { ...Object.fromEntries(own), [`WEIR_${LOCATION}`]: location },
    'WEIR_',
  )
  const settings = readS3(read, LOCATION)
  read.finish()
  if (settings === undefined || settings.bucket === '')
    throw new Failure('invalid', `${location} is no bucket. Name one: s3://BUCKET/PREFIX`)
  if (!isEndpoint(settings.endpoint))
    throw new Failure(
      'invalid',
      `WEIR_BACKUP_S3_ENDPOINT: ${settings.endpoint} is not an http(s) URL.`,
    )
  return { client: new S3Client(settings), key: backupKey(readKey(keyFile)) }
}

function readKey(file: string): string {
  try {
    const text = readFileSync(file, 'utf8').trim()
    if (SECRET_KEY.test(text)) return text
  } catch (cause) {
    throw new Failure(
      'not-found',
      `The gateways' key ${file} cannot be read. Name the file that has it: --key-file FILE`,
      { cause },
    )
  }
  // Anything else would be an empty key, with which everyone could decrypt.
  throw new Failure('invalid', `${file} is no key of gateways: 64 hexadecimal digits are needed.`)
}
