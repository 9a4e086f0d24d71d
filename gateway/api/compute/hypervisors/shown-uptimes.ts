import { hypervisorUptimes } from '../../../app/hosts/hypervisor-uptime.ts'
import type { Call } from '../../../http/operation.ts'
import type { HypervisorViewOptions } from '../../../views/hypervisor.ts'
import { isSince } from '../../../views/since.ts'

type Hosts = Parameters<typeof hypervisorUptimes>[2]

/** What a view needs to show uptimes; from 2.88 on they are among what is known of a hypervisor. */
export async function shownUptimes(
  { app, context }: Pick<Call<never>, 'app' | 'context'>,
  hosts: Hosts,
): Promise<Pick<HypervisorViewOptions, 'uptimes'>> {
  if (!isSince(context, '2.88')) return {}
  return { uptimes: await hypervisorUptimes(app.compute, context, hosts) }
}
