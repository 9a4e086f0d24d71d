import { removeHolder, runningHolder } from '../namespace/holder-file.ts'
import { endNamespace, type Holder, startNamespace } from '../namespace/namespace.ts'

/** The namespaces of the Open vSwitch in this folder, for a host without a hypervisor of its own; new if there are none. */
export async function switchNamespaces(directory: string): Promise<Holder> {
  return (await runningHolder(directory)) ?? (await startNamespace())
}

/** Afterwards they do not exist, and neither does the switch. */
export async function endSwitch(directory: string): Promise<void> {
  const holder = await runningHolder(directory)
  if (holder === undefined) return
  await endNamespace(holder)
  await removeHolder(directory)
}
