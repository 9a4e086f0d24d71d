import { type EnvReader, SettingsError } from '#common/env.ts'
import type { CertificateFiles } from '#common/tls/certificate.ts'

/** What a process of a cell knows of the image caches of its cell. */
export interface ImageCacheSettings {
  /** Of this process; undefined: it has none. */
  readonly own: OwnImageCache | undefined
  /** Of all processes of the cell, as hosts reach them; empty: the one of this process alone, if it has one. */
  readonly urls: readonly string[]
  /** Of the gateways' image services, in the order in which they are tried first. */
  readonly gatewayUrls: readonly string[]
}

export interface OwnImageCache {
  /** Each process has a folder of its own in there. */
  readonly directory: string
  readonly address: string
  /** 0: any free port. */
  readonly port: number
  readonly bytesMax: number
  /** Undefined: it serves without encryption. */
  readonly tls: CertificateFiles | undefined
}

const PORT_MAX = 65_535
/** 50 GiB. */
const BYTES_MAX = 50 * 2 ** 30

/** Reads CELL_IMAGE_URL and CELL_IMAGE_CACHE_*; throws a SettingsError for an address that is no URL. */
export function readImageCache(read: EnvReader): ImageCacheSettings {
  const directory = read.optionalText('IMAGE_CACHE_DIRECTORY')
  const address = read.text('IMAGE_CACHE_ADDRESS', '127.0.0.1')
  const port = read.integer('IMAGE_CACHE_PORT', 0, 0, PORT_MAX)
  const bytesMax = read.integer('IMAGE_CACHE_BYTES_MAX', BYTES_MAX, 1)
  const tls = readTls(read)
  const urls = read.list('IMAGE_CACHE_URLS')
  const gatewayUrls = read.list('IMAGE_URL')
  // Reported as missing.
  if (directory !== undefined && gatewayUrls.length === 0) read.text('IMAGE_URL')
  assertUrls('CELL_IMAGE_CACHE_URLS', urls)
  assertUrls('CELL_IMAGE_URL', gatewayUrls)
  const own = directory === undefined ? undefined : { directory, address, port, bytesMax, tls }
  return { own, urls, gatewayUrls }
}

function readTls(read: EnvReader): CertificateFiles | undefined {
  const certificateFile = read.optionalText('IMAGE_CACHE_TLS_CERTIFICATE_FILE')
  const keyFile = read.optionalText('IMAGE_CACHE_TLS_KEY_FILE')
  if (certificateFile === undefined) return undefined
  return { certificateFile, keyFile: keyFile ?? read.text('IMAGE_CACHE_TLS_KEY_FILE') }
}

function assertUrls(name: string, urls: readonly string[]): void {
  const wrong = urls.find((url) => !/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
  if (wrong !== undefined) throw new SettingsError([`${name}: ${wrong} is not an http(s) URL`])
}
