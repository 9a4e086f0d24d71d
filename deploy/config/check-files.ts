import { X509Certificate } from 'node:crypto'
import { accessSync, constants, existsSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { systemClock } from '#common/clock.ts'
import type { Env } from '#common/env.ts'
import { readCertificate } from '#common/tls/certificate.ts'
import type { Finding } from '../doctor/finding.ts'

const FILE = /^(?:GATEWAY|CELL|COMPUTE|OTEL)_\w+_FILE$|^NODE_EXTRA_CA_CERTS$/
const DIRECTORY = /^(?:GATEWAY|CELL|COMPUTE)_\w+_DIRECTORY$/
const CERTIFICATE = /^(\w+_TLS_)CERTIFICATE_FILE$/
const WARN_MS = 30 * 86_400_000

/** Whether the files that settings name can be read, and folders written, by the user who asks; and certificates used. */
export function checkFiles(env: Env): readonly Finding[] {
  return Object.entries(env).flatMap(([name, value = '']) => {
    if (value === '') return []
    if (CERTIFICATE.test(name)) return [checkCertificate(env, name, value)]
    if (FILE.test(name)) return [checkReadable(name, value)]
    return DIRECTORY.test(name) ? [checkWritable(name, value)] : []
  })
}

function checkReadable(name: string, file: string): Finding {
  try {
    readFileSync(file)
    return { is: 'ok', what: `${name}: ${file} can be read` }
  } catch (error) {
    return { is: 'bad', what: `${name}: ${(error as Error).message}` }
  }
}

/** A folder that is not there is made by the program, in the first folder above that is. */
function checkWritable(name: string, directory: string): Finding {
  let present = directory
  while (!existsSync(present) && dirname(present) !== present) present = dirname(present)
  try {
    accessSync(present, constants.W_OK | constants.X_OK)
    return { is: 'ok', what: `${name}: ${directory} can be written` }
  } catch {
    return {
      is: 'bad',
      what: `${name}: ${present} cannot be written by this user. Change its owner, or name another directory.`,
    }
  }
}

function checkCertificate(env: Env, name: string, certificateFile: string): Finding {
  const keyFile = env[name.replace(CERTIFICATE, '$1KEY_FILE')] ?? ''
  try {
    const { cert } = readCertificate({ certificateFile, keyFile })
    const { validTo } = new X509Certificate(cert)
    const leftMs = Date.parse(validTo) - systemClock.now()
    if (leftMs < 0)
      return { is: 'bad', what: `${name}: ${certificateFile} expired on ${validTo}. Renew it.` }
    if (leftMs < WARN_MS)
      return { is: 'note', what: `${name}: ${certificateFile} expires on ${validTo}. Renew it.` }
    return { is: 'ok', what: `${name}: ${certificateFile} is valid until ${validTo}` }
  } catch (error) {
    return { is: 'bad', what: `${name}: ${(error as Error).message}` }
  }
}
