import { execFileSync } from 'node:child_process'
import { programPath } from '../process/find-program.ts'
import type { Finding } from './finding.ts'

type Release = readonly [major: number, minor: number, patch: number]

/** A hole of nats-server that strangers could use, had they a way to it. */
interface Hole {
  readonly name: string
  readonly what: string
  /** The first release that had it. */
  readonly since: Release
  /** The first without it, of each line that was mended. */
  readonly fixed: readonly Release[]
}

/** Both come before a login, and end the server. Weir opens no way to either. */
const HOLES: readonly Hole[] = [
  {
    name: 'CVE-2026-27889',
    what: 'a WebSocket frame with a forged length',
    since: [2, 2, 0],
    fixed: [
      [2, 11, 14],
      [2, 12, 5],
    ],
  },
  {
    name: 'CVE-2026-29785',
    what: 'compression that a leaf node requests',
    since: [2, 10, 0],
    fixed: [
      [2, 11, 14],
      [2, 12, 5],
    ],
  },
]
const LIMIT_MS = 5_000

/** The facts about the nats-server that would be started. */
export function examineNats(): readonly Finding[] {
  const path = programPath('nats-server')
  if (path === undefined) return []
  const output = execFileSync(path, ['--version'], { encoding: 'utf8', timeout: LIMIT_MS })
  return [natsFinding(path, output)]
}

/** `output`: the program's output for `--version`. */
export function natsFinding(path: string, output: string): Finding {
  const release = releaseIn(output)
  if (release === undefined)
    return {
      is: 'note',
      what: `${path} does not report its release, so it may have known vulnerabilities`,
    }
  const own = `nats-server ${release.join('.')} at ${path}`
  const holes = HOLES.filter((hole) => hasHole(release, hole))
  if (holes.length === 0) return { is: 'ok', what: own }
  const list = holes.map(({ name, what }) => `${name} (${what})`).join(', ')
  return {
    is: 'note',
    what: `${own} has known vulnerabilities: ${list}. It listens on loopback only, and gateways authenticate other machines before they pass a byte to it. To use release 2.12.5 or later instead, put it on the PATH and run ./weir up`,
  }
}

function releaseIn(output: string): Release | undefined {
  const { major, minor, patch } =
    /v(?<major>\d+)\.(?<minor>\d+)\.(?<patch>\d+)/.exec(output)?.groups ?? {}
  return major === undefined ? undefined : [Number(major), Number(minor), Number(patch)]
}

/** Lines older than the oldest one mended stay as they are; newer ones never had it. */
function hasHole(release: Release, { since, fixed }: Hole): boolean {
  if (compare(release, since) < 0) return false
  const sameLine = fixed.find(([major, minor]) => major === release[0] && minor === release[1])
  if (sameLine !== undefined) return compare(release, sameLine) < 0
  return fixed.every((each) => compare(release, each) < 0)
}

function compare(a: Release, b: Release): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2]
}
