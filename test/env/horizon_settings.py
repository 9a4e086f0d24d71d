# Settings of the dashboard of a test, below those that the package brings.
import concurrent.futures
import os
import sys


class OneThread(concurrent.futures.ThreadPoolExecutor):
    def __init__(self, max_workers):
        super().__init__(max_workers=1)


if 'compress' in sys.argv:
    # The command renders templates in four threads, and the scanner of python3-pyscss, whose buffers they share, then reads
    # half a word now and then.
    concurrent.futures.ThreadPoolExecutor = OneThread

DIRECTORY = os.environ['HORIZON_DIRECTORY']
PACKAGE = os.environ['HORIZON_PACKAGE']
THEMES = os.path.join(PACKAGE, 'usr/share/openstack-dashboard/themes')

DEBUG = False
ALLOWED_HOSTS = ['127.0.0.1']
SECRET_KEY = os.environ['HORIZON_SECRET_KEY']
OPENSTACK_KEYSTONE_URL = os.environ['HORIZON_KEYSTONE_URL']
TIME_ZONE = 'UTC'
STATIC_ROOT = os.path.join(DIRECTORY, 'static')
COMPRESS_OFFLINE = True
# The panel of backups, which there are none of.
OPENSTACK_CINDER_FEATURES = {'enable_backup': True}
POLICY_FILES_PATH = os.path.join(PACKAGE, 'etc/openstack-dashboard/policy')
AVAILABLE_THEMES = [('default', 'Default', os.path.join(THEMES, 'default'))]
SESSION_ENGINE = 'django.contrib.sessions.backends.file'
SESSION_FILE_PATH = DIRECTORY
CACHES = {'default': {'BACKEND': 'django.core.cache.backends.locmem.LocMemCache'}}
LOGGING = {
    'version': 1,
    'disable_existing_loggers': False,
    'handlers': {'console': {'class': 'logging.StreamHandler'}},
    'root': {'handlers': ['console'], 'level': 'WARNING'},
}
