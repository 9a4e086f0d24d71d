import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Failure } from '#common/errors.ts'
import { readCertificate } from '#common/tls/certificate.ts'
import {
  joinSecretHash,
  newJoinSecret,
  writeJoinToken,
} from '#gateway/app/federation/join-token.ts'
import { existingControlPlane, FILES, type Folders, ownAddress, PORTS } from './control-plane.ts'
import { SHARED_FILES, SOMETIMES_SHARED } from './shared-files.ts'

/** What a machine that joins a control plane is given. */
export interface AdmissionAnswer {
  /** Its place among the machines. */
  readonly place: number
  /** By name, in the folder of settings. */
  readonly files: Readonly<Record<string, string>>
}

/** The path that a machine asks. */
export const ADMISSION_PATH = '/control-plane'
const BODY_MAX_BYTES = 4_096

/** The right of one machine to join, for as long as it is not disposed. */
export interface Admission extends AsyncDisposable {
  readonly url: string
  /** One-time, and good at this admission only. */
  readonly token: string
  /** Resolves once the machine has what it needs. Rejects with `unavailable` after the time of the token. */
  joined(): Promise<void>
}

export interface AdmissionOptions {
  /** Of the machine that is to join. */
  readonly address: string
  /** Where this machine is asked; absent: at its own address. */
  readonly listenAt?: { readonly host: string; readonly port: number }
  readonly lifetimeMs: number
}

/**
 * From now on the machine at this address can fetch the secrets of the control plane, once, with the token. Throws
 * `not-found` for an address that the control plane does not have.
 */
export async function admitMachine(
  folders: Folders,
  options: AdmissionOptions,
): Promise<Admission> {
  const { machines } = existingControlPlane(folders)
  const place = machines.indexOf(options.address)
  if (place < 0)
    throw new Failure(
      'not-found',
      `The control plane has no machine ${options.address}. It has: ${machines.join(', ')}`,
    )
  return openAdmission(folders, options, { place, files: sharedFilesOf(folders.directory) })
}

/** From now on the machine at this address can fetch this, once, with the token. */
export async function openAdmission(
  folders: Folders,
  { address, listenAt, lifetimeMs }: AdmissionOptions,
  admitted: AdmissionAnswer,
): Promise<Admission> {
  const { directory } = folders
  const { cert, key, pin } = readCertificate({
    certificateFile: join(directory, FILES.certificate),
    keyFile: join(directory, FILES.key),
  })
  const secret = newJoinSecret()
  const hash = joinSecretHash(secret)
  const done = Promise.withResolvers<void>()
  let isUsed = false
  const server = createServer({ cert, key, minVersion: 'TLSv1.3' }, (request, response) => {
    const answer = async () => {
      const isAdmission = request.method === 'POST' && request.url === ADMISSION_PATH
      // A body without a length is not read: it could be of any size.
      const length = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY)
      const given = isAdmission && length <= BODY_MAX_BYTES
      if (!given || joinSecretHash(await text(request)) !== hash || isUsed) {
        response.writeHead(401).end()
        return
      }
      isUsed = true
      response.writeHead(200, { 'content-type': 'application/json', connection: 'close' })
      response.end(JSON.stringify(admitted), () => done.resolve())
    }
    answer().catch(() => response.destroy())
  })
  server.listen(listenAt ?? { host: ownAddress(folders), port: PORTS.admission })
  await once(server, 'listening')
  const { address: host, port } = server.address() as AddressInfo
  const timer = setTimeout(() => {
    done.reject(
      new Failure('unavailable', `${address} has not joined in time. Run this command again.`),
    )
  }, lifetimeMs)
  return {
    url: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    token: writeJoinToken({ secret, pin }),
    joined: () => done.promise,
    [Symbol.asyncDispose]: async () => {
      clearTimeout(timer)
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** Those that there are. */
function sharedFilesOf(directory: string): Readonly<Record<string, string>> {
  const names = [...SHARED_FILES, ...SOMETIMES_SHARED].filter((name) =>
    existsSync(join(directory, name)),
  )
  return Object.fromEntries(
    names.map((name) => [name, readFileSync(join(directory, name), 'utf8')]),
  )
}
