import type { components, operations } from '#openapi/federation.gen.ts'
import type { AnswerOf } from '../cloud/service-client.ts'
import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { type Listing, listView, type View } from '../output/view.ts'

type Usage = components['schemas']['Usage']
type Usages = AnswerOf<operations['showUsage']>

export interface UsageOptions extends ViewOptions {
  readonly start?: string
  readonly end?: string
  readonly by: string
  readonly project?: string
}

const GIB_MB = 1024
const CENTS = 100

/** Shows the sums of what servers, volumes, images and floating IPs took in a period. */
export async function showUsage(operator: Operator, options: UsageOptions): Promise<void> {
  const { start, end, by, project } = options
  const asked = { by, ...(start && { start }), ...(end && { end }), ...(project && { project }) }
  await present(operator, options, async ({ federation }) =>
    usageView(await federation.ask('get', '/v1/usage', { query: asked }), by.split(',')),
  )
}

function usageView(answer: Usages, by: readonly string[]): View {
  const { usages, currency } = answer
  return { ...listView(usages, listing(by, currency)), data: answer, records: usages }
}

/** Columns of the keys by which the sums are told apart, and of the cost where there are prices. */
function listing(by: readonly string[], currency: string | null): Listing<Usage> {
  const keys = by.map((key) => key.trim())
  const has = (key: string) => keys.includes(key)
  return {
    plural: 'servers ran',
    nameOf: ({ project_id, cell, flavor }) =>
      [project_id, cell, flavor].filter((key) => key !== null).join(' '),
    columns: [
      ...(has('project')
        ? [{ head: 'PROJECT', of: ({ project, project_id }: Usage) => project ?? project_id }]
        : []),
      ...(has('cell') ? [{ head: 'CELL', of: ({ cell, cell_id }: Usage) => cell ?? cell_id }] : []),
      ...(has('flavor') ? [{ head: 'FLAVOR', of: ({ flavor }: Usage) => flavor }] : []),
      { head: 'SERVERS', of: ({ servers }) => servers },
      { head: 'HOURS', of: ({ server_hours }) => rounded(server_hours) },
      { head: 'VCPU HOURS', of: ({ vcpu_hours }) => rounded(vcpu_hours) },
      { head: 'GIB HOURS', of: ({ memory_mb_hours }) => rounded(memory_mb_hours / GIB_MB) },
      { head: 'DISK GB HOURS', of: ({ disk_gb_hours }) => rounded(disk_gb_hours) },
      { head: 'VOLUME GB HOURS', of: ({ volume_gb_hours }) => rounded(volume_gb_hours) },
      { head: 'IMAGE GB HOURS', of: ({ image_gb_hours }) => rounded(image_gb_hours), isWide: true },
      { head: 'FLOATING IP HOURS', of: (each) => rounded(each.floating_ip_hours), isWide: true },
      ...(currency === null
        ? []
        : [{ head: currency.toUpperCase(), of: ({ cost }: Usage) => rounded(cost ?? 0) }]),
    ],
  }
}

function rounded(amount: number): number {
  return Math.round(amount * CENTS) / CENTS
}
