import { type EnvReader, SettingsError } from '#common/env.ts'
import { withoutTrailing } from '#common/without-trailing.ts'

/** A bucket of an S3, and the right to it. */
export interface S3Settings {
  /** Without a trailing slash; the bucket is the first part of the path. */
  readonly endpoint: string
  readonly region: string
  readonly bucket: string
  /** What the keys of all objects begin with: empty, or with a trailing slash. */
  readonly prefix: string
  readonly accessKey: string
  readonly secretKey: string
  /** Hosts get URLs with which they read from S3 themselves. */
  readonly isDirect: boolean
}

const LOCATION = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9._/-]*))?$/
const USUAL_REGION = 'us-east-1'

/** Reads GATEWAY_IMAGES and GATEWAY_IMAGES_S3_*; undefined where images are in a directory. */
export function readS3(read: EnvReader): S3Settings | undefined {
  const location = read.optionalText('IMAGES')
  const region = read.text('IMAGES_S3_REGION', USUAL_REGION)
  const endpoint = read.text('IMAGES_S3_ENDPOINT', `https://s3.${region}.amazonaws.com`)
  const isDirect = read.boolean('IMAGES_S3_DIRECT', false)
  if (location === undefined) {
    read.optionalSecret('IMAGES_S3_ACCESS_KEY')
    read.optionalSecret('IMAGES_S3_SECRET_KEY')
    return undefined
  }
  const [, bucket = '', folder = ''] = LOCATION.exec(location) ?? []
  return {
    endpoint: withoutTrailing(endpoint, '/'),
    region,
    bucket,
    prefix: folder === '' ? '' : `${withoutTrailing(folder, '/')}/`,
    accessKey: read.secret('IMAGES_S3_ACCESS_KEY'),
    secretKey: read.secret('IMAGES_S3_SECRET_KEY'),
    isDirect,
  }
}

/** Throws a SettingsError for a location or an endpoint that names no bucket. */
export function assertS3({ bucket, endpoint }: S3Settings): void {
  if (bucket === '')
    throw new SettingsError([
      'GATEWAY_IMAGES: s3://BUCKET or s3://BUCKET/PREFIX is needed; for a folder, set GATEWAY_IMAGE_DIRECTORY',
    ])
  const url = URL.parse(endpoint)
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new SettingsError([`GATEWAY_IMAGES_S3_ENDPOINT: ${endpoint} is not an http(s) URL`])
}
