import { existsSync, readFileSync } from 'node:fs'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { Clock } from '../clock.ts'
import type { Env } from '../env.ts'
import type { Logger } from '../log.ts'
import { RunningReconciler } from '../reconciler.ts'

/** How late certificates that are added to the file are trusted. */
const EVERY_MS = 10_000

/**
 * Until disposed, new connections of this process trust the authorities that the file of `NODE_EXTRA_CA_CERTS` has now;
 * Node itself reads it once. Undefined where the setting is absent.
 */
export function keepTrust(env: Env, clock: Clock, log: Logger): RunningReconciler | undefined {
  const file = env['NODE_EXTRA_CA_CERTS']
  if (file === undefined || file === '') return undefined
  const atStart = getCACertificates('extra')
  const others = getCACertificates().filter((each) => !atStart.includes(each))
  let trusted = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const round = async () => {
    const found = readFileSync(file, 'utf8')
    if (found === trusted) return { renewed: 0 }
    setDefaultCACertificates([...others, found])
    trusted = found
    return { renewed: 1 }
  }
  return new RunningReconciler({ name: 'trust', everyMs: EVERY_MS, round }, clock, log)
}
