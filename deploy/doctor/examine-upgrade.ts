import { readRelease } from '#common/release.ts'
import type { components } from '#openapi/federation.gen.ts'
import { WIRE_VERSIONS } from '#openapi/wire.ts'
import type { Finding } from './finding.ts'

type Schemas = components['schemas']
type Cell = Pick<Schemas['Cell'], 'name' | 'is_alive'> & {
  readonly summary: Pick<Schemas['CellSummary'], 'release' | 'wire_versions'> | null
}

/** The obstacles to running the release of this checkout with these gateways and cells. */
export function examineUpgrade(gateway: string, cells: readonly Cell[]): readonly Finding[] {
  const release = readRelease()
  return [
    { is: 'ok', what: `this checkout is release ${release}, the gateway runs ${gateway}` },
    ...cells.map(examineCell),
  ]
}

function examineCell({ name, is_alive: isReachable, summary }: Cell): Finding {
  const { release, wire_versions: versions } = summary ?? { release: null, wire_versions: [] }
  if (release === null || versions.length === 0)
    return {
      is: 'note',
      what: `cell ${name} ${isReachable ? 'does not report its release' : 'has never been reachable'}: upgrade it to the release of the gateway first`,
    }
  if (versions.some((version) => WIRE_VERSIONS.includes(version))) {
    const unreachable = isReachable ? '' : ' (its last report: it is unreachable)'
    return {
      is: isReachable ? 'ok' : 'note',
      what: `cell ${name} runs ${release} and can stay${unreachable}`,
    }
  }
  return {
    is: 'bad',
    what: `cell ${name} runs ${release} with wire version ${versions.join(', ')}, and this release needs ${WIRE_VERSIONS.join(' or ')}: upgrade the cell to a release between them first`,
  }
}
