# Settings of the dashboard of a test, below those that the package brings.
import os

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
