import { isCephRbdHere, startCephRbd } from '../env/ceph/rbd.ts'
import { isFullRun } from '../env/full-run.ts'
import { giveRbdPool } from './libvirt-rbd-harness.ts'
import { COMMANDS, volumeKills } from './libvirt-volume-kills.ts'
import { whyNoGuests } from './requirements.ts'
import { cephContent } from './store-content.ts'

const why = isFullRun && isCephRbdHere() ? whyNoGuests(COMMANDS) : 'not asked for, or no Ceph'

volumeKills(
  {
    name: 'rbd',
    // Volumes take room as they are written.
    cell: { CELL_STORE_ALLOCATION_RATIO: '4' },
    async give(libvirt, owned) {
      const ceph = owned.use(await startCephRbd())
      owned.use(await giveRbdPool(libvirt, ceph))
      const settings = {
        COMPUTE_DRIVER_VOLUME_POOLS: 'ceph',
        COMPUTE_DRIVER_CEPH_PROGRAMS: ceph.programs,
      }
      return { settings, content: ({ cellId }) => cephContent(ceph, cellId) }
    },
  },
  why,
)
