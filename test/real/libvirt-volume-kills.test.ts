import { join } from 'node:path'
import { isFullRun } from '../env/full-run.ts'
import { COMMANDS, volumeKills } from './libvirt-volume-kills.ts'
import { whyNoGuests } from './requirements.ts'
import { folderContent } from './store-content.ts'

const why = isFullRun ? whyNoGuests(COMMANDS) : 'not asked for'

volumeKills(
  {
    name: 'dir',
    give: async () => ({
      settings: {},
      content: ({ cellId, stateDirectory }) =>
        folderContent(join(stateDirectory, 'volumes'), cellId),
    }),
  },
  why,
)
