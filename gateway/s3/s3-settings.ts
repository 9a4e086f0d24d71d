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
const DEFAULT_REGION = 'us-east-1'

/**
 * Reads the setting of this name, such as GATEWAY_IMAGES, and those of its S3, such as GATEWAY_IMAGES_S3_REGION; undefined
 * where it is not set.
 */
export function readS3(read: EnvReader, name = 'IMAGES'): S3Settings | undefined {
  const location = read.optionalText(name)
  const region = read.text(`${name}_S3_REGION`, DEFAULT_REGION)
  const endpoint = read.text(`${name}_S3_ENDPOINT`, `https://s3.${region}.amazonaws.com`)
  const isDirect = read.boolean(`${name}_S3_DIRECT`, false)
  if (location === undefined) {
    read.optionalSecret(`${name}_S3_ACCESS_KEY`)
    read.optionalSecret(`${name}_S3_SECRET_KEY`)
    return undefined
  }
  const [, bucket = '', folder = ''] = LOCATION.exec(location) ?? []
  return {
    endpoint: withoutTrailing(endpoint, '/'),
    region,
    bucket,
    prefix: folder === '' ? '' : `${withoutTrailing(folder, '/')}/`,
    accessKey: read.secret(`${name}_S3_ACCESS_KEY`),
    secretKey: read.secret(`${name}_S3_SECRET_KEY`),
    isDirect,
  }
}

/** Throws a SettingsError for a location or an endpoint of GATEWAY_IMAGES that names no bucket. */
export function assertS3({ bucket, endpoint }: S3Settings): void {
  if (bucket === '')
    throw new SettingsError([
      'GATEWAY_IMAGES: s3://BUCKET or s3://BUCKET/PREFIX is needed; for a directory, set GATEWAY_IMAGE_DIRECTORY',
    ])
  if (!isEndpoint(endpoint))
    throw new SettingsError([`GATEWAY_IMAGES_S3_ENDPOINT: ${endpoint} is not an http(s) URL`])
}

/** True for the URL of an S3. */
export function isEndpoint(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === ''
}
