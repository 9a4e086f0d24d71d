import { libvirtProblem } from '../hypervisors/choose-driver.ts'
import { machineVirtType } from '../hypervisors/virt-type.ts'
import type { Finding } from './finding.ts'

/** Whether servers can be real here, and how they run. */
export async function examineHypervisor(): Promise<Finding> {
  const problem = libvirtProblem()
  if (problem !== undefined) return { is: 'note', what: `only simulated servers: ${problem}` }
  const verdict = await machineVirtType()
  if (verdict === undefined)
    return { is: 'ok', what: 'real servers through libvirt; ./weir up tries whether KVM runs them' }
  const { virtType, why } = verdict
  if (virtType === 'kvm') return { is: 'ok', what: `real servers through libvirt and KVM: ${why}` }
  return { is: 'note', what: `real servers through libvirt, emulated and slow: ${why}` }
}
