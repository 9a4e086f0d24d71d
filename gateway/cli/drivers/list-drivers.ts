import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { type Listing, listView } from '../output/view.ts'

interface Driver {
  readonly name: string
  readonly is_simulated: boolean
  readonly hosts: number
  readonly capabilities: readonly string[]
  readonly extra_specs: readonly string[] | null
  readonly image_properties: readonly string[] | null
}

const LISTING: Listing<Driver> = {
  plural: 'drivers',
  nameOf: ({ name }) => name,
  columns: [
    { head: 'NAME', of: ({ name }) => name },
    { head: 'GUESTS', of: ({ is_simulated }) => (is_simulated ? 'simulated' : 'real') },
    { head: 'HOSTS', of: ({ hosts }) => hosts },
    { head: 'CAN', of: ({ capabilities }) => capabilities.join(',') },
    {
      head: 'EXTRA SPECS',
      isWide: true,
      of: ({ extra_specs }) => extra_specs?.join(',') ?? 'all',
    },
    {
      head: 'IMAGE PROPERTIES',
      isWide: true,
      of: ({ image_properties }) => image_properties?.join(',') ?? 'all',
    },
  ],
}

export async function listDrivers(operator: Operator, options: ViewOptions): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const { drivers } = await federation.ask('get', '/v1/drivers')
    return listView(drivers, LISTING)
  })
}
